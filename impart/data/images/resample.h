#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace impart::data {

/// Which pixels of a line are brought to which.
struct AxisSpec {
  double start = 0, length = 0;  ///< the part of the input that becomes `resized` pixels
  std::uint32_t extent = 0;   ///< input pixels there are; what is beyond start + length is unseen
  std::uint32_t resized = 0;  ///< pixels that the part becomes
  std::uint32_t first = 0, count = 0;  ///< of these, the wanted ones
};

/// How each wanted pixel of a line is made of input pixels: with the weights of a triangle that
/// spans two input pixels, or two output pixels where these are larger. That is Pillow's bilinear
/// filter, in its fixed-point numbers.
class AxisWeights {
 public:
  explicit AxisWeights(const AxisSpec& spec);

  /// How many input pixels make a wanted one. The same number for all, so that loops over them
  /// have no surprises: some have weight 0.
  std::uint32_t taps() const { return taps_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(firsts_.size()); }
  std::uint32_t first(std::uint32_t pixel) const { return firsts_[pixel]; }
  /// Of input pixels from first(pixel) on, in units of 2^-22.
  std::span<const std::int32_t> weights(std::uint32_t pixel) const {
    return std::span(weights_).subspan(std::size_t{pixel} * taps_, taps_);
  }
  /// The input pixels that are needed: from begin() to end() - 1.
  std::uint32_t begin() const { return begin_; }
  std::uint32_t end() const { return end_; }

 private:
  std::uint32_t taps_ = 0, begin_ = 0, end_ = 0;
  std::vector<std::uint32_t> firsts_;
  std::vector<std::int32_t> weights_;
};

/// Resamples a picture whose rows come one by one, from the first needed to the last, first along
/// rows, then along columns, rounding to bytes in between.
class Resampler {
 public:
  Resampler(const AxisWeights& columns, const AxisWeights& rows);

  /// The needed pixels of the next row: red, green, blue and one unused byte each.
  void add_row(std::span<const std::uint8_t> row);

  /// Writes the three planes of the result, once all rows are there.
  void finish(std::span<std::uint8_t> planes);

 private:
  const AxisWeights& columns_;
  const AxisWeights& rows_;
  std::vector<std::int32_t> numbers_;  ///< the bytes of a row
  std::vector<std::int32_t> sums_;     ///< of a row of the result, with a fraction
  std::vector<std::uint8_t> lines_;    ///< the rows, resampled along themselves
};

}  // namespace impart::data
