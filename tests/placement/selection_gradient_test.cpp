// The gradient of a linear model over what was selected is, on average, that of all examples.

#include <array>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"

namespace impart::placement {
namespace {

constexpr std::size_t kInputs = 3;
constexpr std::uint32_t kModelWorkers = 2, kPoints = 40;
constexpr std::uint64_t kSelected = 20'000;
using Gradient = std::array<double, kInputs>;
using Covariance = std::array<Gradient, kInputs>;

/// Three parameters together are as far away as one at 3 standard errors, by chance in 0.27 % of
/// samples, if the square of their distance is above this: the quantile of χ² with 3 degrees.
constexpr double kThreeErrors = 14.16;

/// xᵀ C⁻¹ x, by elimination: C is symmetric and positive.
double squared_distance(Covariance c, Gradient x) {
  double sum = 0;
  for (std::size_t k = 0; k < kInputs; ++k) {
    sum += x[k] * x[k] / c[k][k];
    for (std::size_t i = k + 1; i < kInputs; ++i) {
      const double factor = c[i][k] / c[k][k];
      x[i] -= factor * x[k];
      for (std::size_t j = k + 1; j < kInputs; ++j) c[i][j] -= factor * c[k][j];
    }
  }
  return sum;
}

/// Squared errors of y = a·x at some a: their losses and gradients.
struct LinearModel {
  std::vector<float> losses;
  std::vector<Gradient> gradients;
};

LinearModel make_model() {
  RandomStream random({.seed = 7, .purpose = Purpose("test")});
  LinearModel model;
  for (std::uint32_t i = 0; i < kPoints; ++i) {
    Gradient inputs;
    for (double& input : inputs) input = random.normal();
    const double error = 0.5 * inputs[0] - inputs[1] + random.normal();
    model.losses.push_back(static_cast<float>(error * error / 2));
    for (double& input : inputs) input *= error;
    model.gradients.push_back(inputs);
  }
  return model;
}

/// How far the mean over many selections is from the gradient of all: the square of the distance in
/// standard errors, all parameters together.
double distance(std::string_view name, bool with_weights) {
  const LinearModel model = make_model();
  const Partition partition = deal_in_stripes(model.losses, {.workers = kModelWorkers});
  const Parts parts = partition.parts();
  Gradient full{}, sum{};
  Covariance squares{};
  for (const Gradient& gradient : model.gradients) {
    for (std::size_t k = 0; k < kInputs; ++k) full[k] += gradient[k];
  }
  for (std::uint64_t seed = 0; seed < kSelected; ++seed) {
    const Selected selected =
        select_visits(find_entry(kSelections, "selection", name),
                      {.parts = parts, .examples = kPoints, .scores = model.losses},
                      {.seed = seed,
                       .epoch = static_cast<std::uint32_t>(seed % 7),
                       .share = 0.4,
                       .mix = 0.7,
                       .threshold = 0});
    Gradient epoch{};
    for (std::uint32_t worker = 0; worker < kModelWorkers; ++worker) {
      for (const ExampleId id : selected.visits.of(WorkerId{worker})) {
        const double weight = with_weights ? double{selected.weights[index(id)]} : 1;
        for (std::size_t k = 0; k < kInputs; ++k) {
          epoch[k] += weight * model.gradients[index(id)][k];
        }
      }
    }
    for (std::size_t k = 0; k < kInputs; ++k) {
      sum[k] += epoch[k];
      for (std::size_t j = 0; j < kInputs; ++j) squares[k][j] += epoch[k] * epoch[j];
    }
  }
  Gradient away;
  Covariance of_mean;
  for (std::size_t k = 0; k < kInputs; ++k) {
    away[k] = sum[k] / kSelected - full[k];
    for (std::size_t j = 0; j < kInputs; ++j) {
      const double covariance = squares[k][j] / kSelected - sum[k] / kSelected * sum[j] / kSelected;
      of_mean[k][j] = covariance / kSelected;
    }
  }
  return squared_distance(of_mean, away);
}

class SelectionGradient : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SelectionGradient, IsThatOfAllExamplesOnAverage) {
  EXPECT_LT(distance(GetParam(), true), kThreeErrors);
}

TEST_P(SelectionGradient, IsNotWithoutTheWeights) {
  EXPECT_GT(distance(GetParam(), false), 10 * kThreeErrors);
}

INSTANTIATE_TEST_SUITE_P(, SelectionGradient, ::testing::Values("random", "infobatch", "sampling"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace impart::placement
