// Kernels against the formulas of their headers in double precision, and their gradients against
// differences.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/models/kernels/attention_kernel.h"
#include "impart/models/kernels/batch_norm_kernel.h"
#include "impart/models/kernels/dropout_kernel.h"
#include "impart/models/kernels/gelu_kernel.h"
#include "impart/models/kernels/half_norm_kernel.h"

namespace impart::kernels {
namespace {

std::vector<float> draw(std::size_t count, const char* name) {
  RandomStream random({.seed = 1, .purpose = Purpose(name)});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(4 * random.uniform() - 2);
  }
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The gradient by each element of `x` must be what a small change of it does to `loss`.
void expect_gradient(std::vector<float>& x, const std::vector<float>& gradient,
                     const std::function<double()>& loss) {
  constexpr float step = 1.0F / 128;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float kept = x[i];
    x[i] = kept + step;
    const double above = loss();
    x[i] = kept - step;
    const double below = loss();
    x[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 2e-2) << "element " << i;
  }
}

double gelu(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * (1 + std::tanh(u)) / 2;
}

TEST(GeluKernel, IsTheFormulaForAnyCount) {
  for (const std::size_t count : {0U, 1U, 7U, 16U, 33U}) {
    const std::vector<float> x = draw(count, "gelu");
    std::vector<float> y(count, -1);
    apply_gelu(x.data(), static_cast<std::int64_t>(count), y.data());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(y[i], gelu(x[i]), 1e-5);
    }
  }
}

TEST(GeluKernel, HasTheGradientOfDifferences) {
  std::vector<float> x = draw(21, "gelu");
  const std::vector<float> weights = draw(21, "weights");
  std::vector<float> gradient(x.size());
  differentiate_gelu(x.data(), weights.data(), 21, gradient.data());
  expect_gradient(x, gradient, [&] {
    std::vector<float> y(x.size());
    apply_gelu(x.data(), 21, y.data());
    return dot(y, weights);
  });
}

/// Two workers' rows, five channels of which a strip has some.
struct NormCase {
  std::int64_t pixels;
  BatchNormStrip strip() const {
    return {.first_row = 3,
            .rows = 4,
            .first_channel = 1,
            .channels = std::min<std::int64_t>(3, channels_per_strip(pixels)),
            .pixels = pixels,
            .row_stride = 5 * pixels};
  }
  std::size_t size() const { return static_cast<std::size_t>(7 * 5 * pixels); }
};

TEST(BatchNormKernel, NormalisesItsStripAndLeavesTheRest) {
  for (const NormCase norm : {NormCase{1}, NormCase{6}, NormCase{50}}) {
    const BatchNormStrip strip = norm.strip();
    const std::vector<float> x = draw(norm.size(), "x");
    const std::vector<float> weight = {0.5F, 2, -1}, bias = {1, 0, 3};
    std::vector<float> mean(3), variance(3), y(x.size(), 77);
    normalise_strip(strip, x.data(), weight.data(), bias.data(), 1e-5,
                    {mean.data(), variance.data()}, y.data());
    std::size_t written = 0;
    for (std::int64_t channel = 0; channel < strip.channels; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      const auto each = [&](const auto& visit) {
        for (std::int64_t row = strip.first_row; row < strip.first_row + strip.rows; ++row) {
          for (std::int64_t pixel = 0; pixel < strip.pixels; ++pixel) {
            visit(static_cast<std::size_t>(row * strip.row_stride +
                                           (strip.first_channel + channel) * strip.pixels + pixel));
          }
        }
      };
      const double count = static_cast<double>(strip.rows * strip.pixels);
      double sum = 0, squares = 0;
      each([&](std::size_t i) { sum += x[i]; });
      each([&](std::size_t i) { squares += std::pow(x[i] - sum / count, 2); });
      EXPECT_NEAR(mean[c], sum / count, 1e-5);
      EXPECT_NEAR(variance[c], squares / count, 1e-4);
      each([&](std::size_t i) {
        const double scaled = (x[i] - sum / count) / std::sqrt(squares / count + 1e-5);
        EXPECT_NEAR(y[i], scaled * weight[c] + bias[c], 1e-4);
        ++written;
      });
    }
    EXPECT_EQ(static_cast<std::size_t>(std::count(y.begin(), y.end(), 77.0F)), y.size() - written);
  }
}

TEST(BatchNormKernel, HasTheGradientsOfDifferences) {
  const BatchNormStrip strip{.rows = 6, .channels = 2, .pixels = 2, .row_stride = 4};
  std::vector<float> x = draw(24, "x"), weight = {0.5F, 2}, bias = {1, 0};
  const std::vector<float> grad_y = draw(24, "grad");
  std::vector<float> mean(2), variance(2);
  const auto loss = [&] {
    std::vector<float> y(24);
    normalise_strip(strip, x.data(), weight.data(), bias.data(), 1e-5,
                    {mean.data(), variance.data()}, y.data());
    return dot(y, grad_y);
  };
  loss();
  const std::vector<float> means = mean, variances = variance;
  std::vector<float> grad_x(24), grad_weight(2), grad_bias(2);
  differentiate_strip(strip,
                      {.x = x.data(),
                       .grad_y = grad_y.data(),
                       .weight = weight.data(),
                       .mean = means.data(),
                       .variance = variances.data(),
                       .epsilon = 1e-5},
                      grad_x.data(), grad_weight.data(), grad_bias.data());
  expect_gradient(x, grad_x, loss);
  expect_gradient(weight, grad_weight, loss);
  expect_gradient(bias, grad_bias, loss);
}

class AttentionKernel : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::int64_t kTokens = 37;  // no multiple of a block
  static constexpr std::int64_t kWidth = 16;
  const AttentionShape shape{.tokens = kTokens, .heads = 1, .width = kWidth, .causal = GetParam()};
  std::vector<float> q = draw(kTokens * kWidth, "q"), k = draw(kTokens * kWidth, "k"),
                     v = draw(kTokens * kWidth, "v"), bias = draw(kTokens, "bias");
  std::vector<float> output = std::vector<float>(kTokens * kWidth),
                     normaliser = std::vector<float>(kTokens),
                     scratch =
                         std::vector<float>(static_cast<std::size_t>(attention_scratch(shape)));

  AttentionInputs inputs() const {
    return {{q.data(), kWidth}, {k.data(), kWidth}, {v.data(), kWidth}, bias.data()};
  }

  void run() {
    attend(shape, inputs(), {output.data(), kWidth}, normaliser.data(), scratch.data());
  }
};

TEST_P(AttentionKernel, IsTheSoftmaxOfScoresTimesValues) {
  ASSERT_TRUE(has_attention_kernel(kWidth));
  run();
  for (std::size_t t = 0; t < kTokens; ++t) {
    const std::size_t seen = GetParam() ? t + 1 : kTokens;
    std::vector<double> mixed(kWidth);
    double total = 0;
    for (std::size_t s = 0; s < seen; ++s) {
      double score = 0;
      for (std::size_t d = 0; d < kWidth; ++d) {
        score += double{q[t * kWidth + d]} * k[s * kWidth + d];
      }
      const double weight = std::exp(score / std::sqrt(double{kWidth}) + bias[s]);
      total += weight;
      for (std::size_t d = 0; d < kWidth; ++d) {
        mixed[d] += weight * v[s * kWidth + d];
      }
    }
    EXPECT_NEAR(normaliser[t], std::log(total), 1e-4);
    for (std::size_t d = 0; d < kWidth; ++d) {
      EXPECT_NEAR(output[t * kWidth + d], mixed[d] / total, 1e-4);
    }
  }
}

TEST_P(AttentionKernel, HasTheGradientsOfDifferences) {
  const std::vector<float> grad_output = draw(kTokens * kWidth, "grad");
  run();
  std::vector<float> grad_q(q.size()), grad_k(k.size()), grad_v(v.size());
  differentiate_attention(
      shape, inputs(), {{output.data(), kWidth}, {grad_output.data(), kWidth}, normaliser.data()},
      {{grad_q.data(), kWidth}, {grad_k.data(), kWidth}, {grad_v.data(), kWidth}}, scratch.data());
  const auto loss = [&] {
    run();
    return dot(output, grad_output);
  };
  expect_gradient(q, grad_q, loss);
  expect_gradient(k, grad_k, loss);
  expect_gradient(v, grad_v, loss);
}

INSTANTIATE_TEST_SUITE_P(CausalOrNot, AttentionKernel, ::testing::Bool());

TEST(DropoutKernel, DropsItsShareAndDoesNotDependOnWhereItStarts) {
  const DropoutMaskSpec spec{
      .key = {1, 2}, .layer = 3, .worker = 4, .dropped = 65536 / 4, .kept = 4.0F / 3};
  std::vector<float> whole(100 * kDropoutGroup + 5), later(whole.size() - 40 * kDropoutGroup);
  draw_dropout_mask(spec, 0, whole);
  draw_dropout_mask(spec, 40, later);
  EXPECT_TRUE(std::equal(later.begin(), later.end(), whole.begin() + 40 * kDropoutGroup));
  const auto dropped = std::count(whole.begin(), whole.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(whole.size()), 0.25, 0.02);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), 4.0F / 3),
            static_cast<std::ptrdiff_t>(whole.size()) - dropped);
}

TEST(Bfloat16, ComesBackFromAFloatAsItWas) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half = static_cast<Half>(bits);
    const float value = widen(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(widen(narrow(value)))) << bits;
    } else {
      EXPECT_EQ(narrow(value), half) << bits;
    }
  }
}

TEST(Bfloat16, IsTheNearestAndOfTwoTheEvenOne) {
  const float unit = 1.0F / 128;  // between neighbours from 1 to 2
  EXPECT_EQ(widen(narrow(1 + 0.49F * unit)), 1);
  EXPECT_EQ(widen(narrow(1 + 0.51F * unit)), 1 + unit);
  EXPECT_EQ(widen(narrow(1 + 0.5F * unit)), 1);
  EXPECT_EQ(widen(narrow(1 + 1.5F * unit)), 1 + 2 * unit);
  EXPECT_EQ(widen(narrow(-1 - 1.5F * unit)), -1 - 2 * unit);
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(widen(narrow(most)), std::numeric_limits<float>::infinity());
}

std::vector<Half> draw_halves(std::size_t count, const char* name) {
  std::vector<Half> halves(count);
  const std::vector<float> values = draw(count, name);
  std::transform(values.begin(), values.end(), halves.begin(), narrow);
  return halves;
}

/// Positions of some channels, and what belongs to them.
struct HalfSetting {
  explicit HalfSetting(std::size_t width)
      : channels(width),
        x(draw_halves(kPositions * width, "x")),
        y(draw_halves(kPositions * width, "y")),
        grad(draw_halves(kPositions * width, "grad")),
        too(draw_halves(kPositions * width, "too")),
        scale(draw(width, "scale")),
        shift(draw(width, "shift")),
        mean(draw(width, "mean")) {}

  HalfPositions positions() const {
    return {.count = kPositions, .channels = static_cast<std::int64_t>(channels)};
  }

  static constexpr std::size_t kPositions = 11;
  std::size_t channels;
  std::vector<Half> x, y, grad, too;
  std::vector<float> scale, shift, mean;
};

constexpr std::size_t kHalfChannels[] = {1, 3, 16, 70};
constexpr double kHalfUnit = 1.0 / 256;  // of a value, what rounding may change

TEST(HalfNormKernel, NormalisesAddsAndRectifies) {
  for (const std::size_t channels : kHalfChannels) {
    const HalfSetting s(channels);
    for (const bool relu : {false, true}) {
      for (const bool residual : {false, true}) {
        std::vector<Half> found(s.x.size());
        normalise_positions(s.positions(),
                            {.x = s.x.data(),
                             .residual = residual ? s.too.data() : nullptr,
                             .scale = s.scale.data(),
                             .shift = s.shift.data(),
                             .relu = relu},
                            found.data());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const std::size_t c = i % channels;
          double expected = double{s.scale[c]} * widen(s.x[i]) + s.shift[c];
          if (residual) expected += widen(s.too[i]);
          if (relu) expected = std::max(0.0, expected);
          EXPECT_NEAR(widen(found[i]), expected, kHalfUnit * std::abs(expected) + 1e-6);
        }
      }
    }
  }
}

TEST(HalfNormKernel, LetsWhatIsNotANumberThroughARectifier) {
  const std::vector<Half> x = {narrow(std::numeric_limits<float>::quiet_NaN())};
  const std::vector<float> one = {1}, zero = {0};
  std::vector<Half> y(1);
  normalise_positions(
      {.count = 1, .channels = 1},
      {.x = x.data(), .residual = nullptr, .scale = one.data(), .shift = zero.data(), .relu = true},
      y.data());
  EXPECT_TRUE(std::isnan(widen(y[0])));
}

TEST(HalfNormKernel, SumsValuesAndSquares) {
  for (const std::size_t channels : kHalfChannels) {
    const HalfSetting s(channels);
    std::vector<float> sums(channels, 7), squares(channels, 7);
    sum_positions(s.positions(), s.x.data(), sums.data(), squares.data());
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, square = 0;
      for (std::size_t i = c; i < s.x.size(); i += channels) {
        sum += widen(s.x[i]);
        square += double{widen(s.x[i])} * widen(s.x[i]);
      }
      EXPECT_NEAR(sums[c], sum, 1e-5);
      EXPECT_NEAR(squares[c], square, 1e-4);
    }
  }
}

TEST(HalfNormKernel, DifferentiatesOneUseOrTwoWithARectifierOrNot) {
  for (const std::size_t channels : kHalfChannels) {
    const HalfSetting s(channels);
    for (const bool relu : {false, true}) {
      for (const bool twice : {false, true}) {
        const HalfNormBackward inputs{.x = s.x.data(),
                                      .y = relu ? s.y.data() : nullptr,
                                      .grad_y = s.grad.data(),
                                      .grad_y_too = twice ? s.too.data() : nullptr,
                                      .mean = s.mean.data()};
        std::vector<float> grads(channels, 7), products(channels, 7);
        sum_half_gradients(s.positions(), inputs, grads.data(), products.data());
        std::vector<Half> grad_x(s.x.size()), grad_residual(s.x.size()), alone(s.x.size());
        const std::vector<float> slope = draw(channels, "slope");
        const HalfGradient by{s.scale.data(), slope.data(), s.shift.data()};
        write_half_gradients(s.positions(), inputs, by, grad_x.data(), grad_residual.data());
        write_half_gradients(s.positions(), inputs, by, alone.data(), nullptr);
        EXPECT_EQ(grad_x, alone);
        std::vector<double> sums(channels, 0), sums_of_products(channels, 0);
        for (std::size_t i = 0; i < s.x.size(); ++i) {
          const std::size_t c = i % channels;
          double g = double{widen(s.grad[i])} + (twice ? double{widen(s.too[i])} : 0.0);
          if (relu && !(widen(s.y[i]) > 0)) g = 0;
          const double distance = double{widen(s.x[i])} - s.mean[c];
          sums[c] += g;
          sums_of_products[c] += g * distance;
          const double expected = s.scale[c] * g + slope[c] * distance + s.shift[c];
          EXPECT_NEAR(widen(grad_x[i]), expected, kHalfUnit * std::abs(expected) + 1e-5);
          EXPECT_NEAR(widen(grad_residual[i]), g, kHalfUnit * std::abs(g));
        }
        for (std::size_t c = 0; c < channels; ++c) {
          EXPECT_NEAR(grads[c], sums[c], 1e-4);
          EXPECT_NEAR(products[c], sums_of_products[c], 1e-4);
        }
      }
    }
  }
}

}  // namespace
}  // namespace impart::kernels
