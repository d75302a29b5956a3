#include "impart/core/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "impart/core/error.h"

namespace impart {
namespace {

constexpr double kLn2High = 6.93147180369123816490e-01;  // ln 2, its low bits cleared
constexpr double kLn2Low = 1.90821492927058770002e-10;   // ln 2 - kLn2High

struct Product128 {
  std::uint64_t high;
  std::uint64_t low;
};

Product128 multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32;
  const std::uint64_t b_low = b & 0xFFFFFFFF, b_high = b >> 32;
  const std::uint64_t low = a_low * b_low;
  const std::uint64_t cross = a_high * b_low + (low >> 32);
  const std::uint64_t middle = a_low * b_high + (cross & 0xFFFFFFFF);
  return {a_high * b_high + (cross >> 32) + (middle >> 32), (middle << 32) | (low & 0xFFFFFFFF)};
}

/// a[0] + a[1] x + a[2] x² + …, by Horner's rule.
template <std::size_t N>
double polynomial(const std::array<double, N>& a, double x) {
  double value = a[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) value = value * x + a[i];
  return value;
}

// Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
// Statistics 37 (1988): coefficients of PPND16, relative error about 1e-16.
constexpr std::array kCentreTop = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                   1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                   4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                   3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array kCentreBottom = {1.0,
                                      4.2313330701600911252e+1,
                                      6.8718700749205790830e+2,
                                      5.3941960214247511077e+3,
                                      2.1213794301586595867e+4,
                                      3.9307895800092710610e+4,
                                      2.8729085735721942674e+4,
                                      5.2264952788528545610e+3};
constexpr std::array kMiddleTop = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                   5.76949722146069140550e0,  3.64784832476320460504e0,
                                   1.27045825245236838258e0,  2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array kMiddleBottom = {1.0,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};
constexpr std::array kTailTop = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array kTailBottom = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};

}  // namespace

RandomStream::RandomStream(const StreamName& name)
    : key_{static_cast<std::uint32_t>(name.seed), static_cast<std::uint32_t>(name.seed >> 32)},
      counter_{0, name.purpose.code(), name.epoch, index(name.worker)} {}

void RandomStream::refill() {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  if (blocks_ == kAll) throw Error("a random stream is used up after 2^34 words");
  counter_[0] = static_cast<std::uint32_t>(blocks_);
  // Many streams are asked for a word or two: the first blocks come alone.
  if (blocks_ < kPhiloxBlocks || kAll - blocks_ < kPhiloxBlocks) {
    const PhiloxCounter block = philox4x32_10(counter_, key_);
    used_ = words_.size() - block.size();
    std::copy(block.begin(), block.end(), words_.end() - block.size());
    ++blocks_;
    return;
  }
  philox4x32_10_blocks(counter_, key_, words_);
  used_ = 0;
  blocks_ += kPhiloxBlocks;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  if (bound <= std::uint64_t{1} << 32) {
    // Of the 2^32 products word * bound, those whose low half is under 2^32 mod bound are surplus.
    std::uint64_t product = next32() * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint64_t surplus = (std::uint64_t{1} << 32) % bound;
      while (static_cast<std::uint32_t>(product) < surplus) product = next32() * bound;
    }
    return product >> 32;
  }
  Product128 product = multiply(next64(), bound);
  if (product.low < bound) {
    const std::uint64_t surplus = (0 - bound) % bound;
    while (product.low < surplus) product = multiply(next64(), bound);
  }
  return product.high;
}

double RandomStream::exponential() {
  return -portable_log(open_uniform());
}

double RandomStream::normal() {
  return normal_quantile(open_uniform());
}

double portable_log(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s), s = (m-1)/(m+1), |s| < 0.172, as a
  // series in s² up to s^21, whose first left-out term is below 2^-56 of the sum.
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 0.0;
  for (int k = 21; k >= 3; k -= 2) series = (series + 1.0 / k) * s2;
  const double ln_m = 2.0 * s + 2.0 * s * series;
  return exponent * kLn2High + (ln_m + exponent * kLn2Low);
}

double portable_exp(double x) {
  if (!(x > -708.0)) return 0.0;
  // x = k ln 2 + r with |r| <= ln(2) / 2; e^r as a series up to r^14, whose first left-out term is
  // below 2^-60.
  const double k = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double series = 1.0;
  for (int i = 14; i >= 1; --i) series = 1.0 + series * r / i;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023);
  return series * std::bit_cast<double>(exponent << 52);
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentreTop, r) / polynomial(kCentreBottom, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1.0 - p));
  const double size = r <= 5.0
                          ? polynomial(kMiddleTop, r - 1.6) / polynomial(kMiddleBottom, r - 1.6)
                          : polynomial(kTailTop, r - 5.0) / polynomial(kTailBottom, r - 5.0);
  return q < 0 ? -size : size;
}

}  // namespace impart
