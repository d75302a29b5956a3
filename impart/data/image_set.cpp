#include "impart/data/image_set.h"

#include <cmath>

namespace impart {

ChannelMoments measure_channels(const ImageSet& set) {
  std::vector<std::uint64_t> sums(set.channels, 0), squares(set.channels, 0);
  const std::uint64_t plane = std::uint64_t{set.height} * set.width;
  for (std::uint64_t i = 0; i < set.count; ++i) {
    for (std::uint32_t channel = 0; channel < set.channels; ++channel) {
      std::uint64_t sum = 0, square = 0;
      for (const std::uint64_t value : set.image(i).subspan(channel * plane, plane)) {
        sum += value;
        square += value * value;
      }
      sums[channel] += sum;
      squares[channel] += square;
    }
  }
  ChannelMoments moments;
  const double pixels = static_cast<double>(set.count * plane);
  for (std::uint32_t channel = 0; channel < set.channels; ++channel) {
    const double mean = pixels > 0 ? static_cast<double>(sums[channel]) / pixels : 0.0;
    const double square = pixels > 0 ? static_cast<double>(squares[channel]) / pixels : 0.0;
    const double variance = square - mean * mean;
    moments.mean.push_back(static_cast<float>(mean / 255));
    moments.std.push_back(variance > 0 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0f);
  }
  return moments;
}

}  // namespace impart
