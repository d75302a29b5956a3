#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace impart::data {

/// Labelled images of one size, all in memory, as bytes. Example i is the i-th image and the i-th
/// label. Nothing here is normalised: that happens when a batch is made (batch.h).
struct ImageSet {
  std::uint64_t count = 0;
  std::uint32_t channels = 0, height = 0, width = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint8_t> pixels = {};  ///< count × channels × height × width, planes one by one
  std::vector<std::uint32_t> labels = {};  ///< count numbers below `classes`
  /// How hard each example is, from 0 to 1, where the data set knows it; else empty.
  std::vector<float> truth = {};
  /// Per channel, of pixels scaled to 0..1: what normalisation subtracts and divides by. The test
  /// set carries those of the training set.
  std::vector<float> mean = {}, std = {};
  std::vector<std::string> class_names = {};  ///< `classes` names, or empty

  std::uint64_t image_bytes() const { return std::uint64_t{channels} * height * width; }
  std::span<const std::uint8_t> image(std::uint64_t i) const {
    return std::span(pixels).subspan(i * image_bytes(), image_bytes());
  }
};

/// A data set of images that are in memory.
struct ImageData {
  ImageSet train, test;
};

/// Mean and standard deviation of each channel over all pixels, scaled to 0..1. A constant channel
/// gets the deviation 1, so that dividing by it is harmless; without pixels the mean is 0.
struct ChannelMoments {
  std::vector<float> mean = {}, std = {};
};

/// Measures them image by image. The sums are exact integers, so equal images give equal numbers on
/// every machine, in whatever order they come.
class ChannelSums {
 public:
  ChannelSums(std::uint32_t channels, std::uint64_t plane_pixels)
      : plane_(plane_pixels), sums_(channels), squares_(channels) {}

  void add(std::span<const std::uint8_t> image);  ///< planes one by one
  ChannelMoments moments() const;

 private:
  std::uint64_t plane_, images_ = 0;
  std::vector<std::uint64_t> sums_, squares_;
};

ChannelMoments measure_channels(const ImageSet& set);

}  // namespace impart::data
