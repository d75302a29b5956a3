#include "impart/data/images/photo_crop.h"

#include <algorithm>
#include <cmath>

#include "impart/core/random.h"

namespace impart::data {
namespace {

constexpr double kSmallestArea = 0.08;
constexpr double kLowestRatio = 3.0 / 4, kHighestRatio = 4.0 / 3;
constexpr double kLogHighestRatio = 0.28768207245178093;  // and its negative is that of the lowest
constexpr int kTries = 10;

/// e^x for |x| < 0.3, to within 2 ulp, the same bits on every IEEE machine.
double portable_exp(double x) {
  double sum = 1;
  for (int k = 14; k > 0; --k) sum = 1 + x / k * sum;
  return sum;
}

CropBox centred(std::uint32_t width, std::uint32_t height, std::uint32_t w, std::uint32_t h) {
  return {.left = (width - w) / 2, .top = (height - h) / 2, .width = w, .height = h};
}

CropBox largest_allowed(std::uint32_t width, std::uint32_t height) {
  const double ratio = static_cast<double>(width) / height;
  if (ratio < kLowestRatio) {
    const auto h = static_cast<std::uint32_t>(std::nearbyint(width / kLowestRatio));
    return centred(width, height, width, std::clamp(h, 1u, height));
  }
  if (ratio > kHighestRatio) {
    const auto w = static_cast<std::uint32_t>(std::nearbyint(height * kHighestRatio));
    return centred(width, height, std::clamp(w, 1u, width), height);
  }
  return {.width = width, .height = height};
}

}  // namespace

CropBox choose_random_crop(std::uint32_t width, std::uint32_t height,
                           const DecodeChoices& choices) {
  RandomStream random({.seed = choices.words[0] | std::uint64_t{choices.words[1]} << 32,
                       .purpose = Purpose("crop"),
                       .epoch = choices.words[2],
                       .worker = WorkerId{choices.words[3]}});
  const double area = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double part = area * (kSmallestArea + (1 - kSmallestArea) * random.uniform());
    const double ratio = portable_exp(kLogHighestRatio * (2 * random.uniform() - 1));
    const double w = std::nearbyint(std::sqrt(part * ratio));
    const double h = std::nearbyint(std::sqrt(part / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    CropBox box{.width = static_cast<std::uint32_t>(w), .height = static_cast<std::uint32_t>(h)};
    box.top = static_cast<std::uint32_t>(random.below(height - box.height + 1));
    box.left = static_cast<std::uint32_t>(random.below(width - box.width + 1));
    return box;
  }
  return largest_allowed(width, height);
}

std::uint32_t usual_resize(std::uint32_t size) {
  return static_cast<std::uint32_t>(std::nearbyint(size / 0.875));
}

CentreCrop choose_centre_crop(std::uint32_t extent, std::uint32_t shorter, std::uint32_t size,
                              std::uint32_t resize) {
  const auto resized = static_cast<std::uint32_t>(std::uint64_t{resize} * extent / shorter);
  return {.resized = resized,
          .first = static_cast<std::uint32_t>(std::nearbyint((resized - size) / 2.0))};
}

}  // namespace impart::data
