#include "impart/data/images/image_set.h"

#include <cmath>

namespace impart::data {

void ChannelSums::add(std::span<const std::uint8_t> image) {
  for (std::size_t channel = 0; channel < sums_.size(); ++channel) {
    std::uint64_t sum = 0, square = 0;
    for (const std::uint64_t value : image.subspan(channel * plane_, plane_)) {
      sum += value;
      square += value * value;
    }
    sums_[channel] += sum;
    squares_[channel] += square;
  }
  ++images_;
}

ChannelMoments ChannelSums::moments() const {
  ChannelMoments moments;
  const double pixels = static_cast<double>(images_ * plane_);
  for (std::size_t channel = 0; channel < sums_.size(); ++channel) {
    const double mean = pixels > 0 ? static_cast<double>(sums_[channel]) / pixels : 0.0;
    const double square = pixels > 0 ? static_cast<double>(squares_[channel]) / pixels : 0.0;
    const double variance = square - mean * mean;
    moments.mean.push_back(static_cast<float>(mean / 255));
    moments.std.push_back(variance > 0 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0f);
  }
  return moments;
}

ChannelMoments measure_channels(const ImageSet& set) {
  ChannelSums sums(set.channels, std::uint64_t{set.height} * set.width);
  for (std::uint64_t i = 0; i < set.count; ++i) sums.add(set.image(i));
  return sums.moments();
}

}  // namespace impart::data
