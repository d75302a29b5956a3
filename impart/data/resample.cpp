#include "impart/data/resample.h"

#include <algorithm>
#include <cmath>

#include "impart/core/error.h"

// The loops below are plain integer arithmetic, so that every machine gives the same bytes; on x86
// the loader picks a version for the processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define IMPART_FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define IMPART_FOR_EACH_PROCESSOR
#endif

namespace impart {
namespace {

constexpr int kFractionBits = 22;  // 32 bits less 8 of a pixel and 2 for sums beyond 255 and sign
constexpr std::size_t kPixelBytes = 4;

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

/// One pixel out of `count` neighbours.
inline void mix_pixels(const std::uint8_t* pixels, const std::int32_t* weights, std::size_t count,
                       std::uint8_t* out) {
  std::int32_t sums[kPixelBytes];
  std::fill_n(sums, kPixelBytes, 1 << (kFractionBits - 1));
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < kPixelBytes; ++c) {
      sums[c] += weights[k] * pixels[k * kPixelBytes + c];
    }
  }
  for (std::size_t c = 0; c < kPixelBytes; ++c) out[c] = to_byte(sums[c]);
}

IMPART_FOR_EACH_PROCESSOR
void resample_row(const std::uint8_t* row, const AxisWeights& columns, std::uint8_t* out) {
  for (std::uint32_t x = 0; x < columns.count(); ++x) {
    const AxisWeights::Taps taps = columns.taps(x);
    mix_pixels(row + (taps.first - columns.begin()) * kPixelBytes, taps.weights.data(),
               taps.weights.size(), out + x * kPixelBytes);
  }
}

/// Adds a row, weighted, to the sums.
IMPART_FOR_EACH_PROCESSOR
void add_weighted(const std::uint8_t* row, std::int32_t weight, std::size_t bytes,
                  std::int32_t* sums) {
  for (std::size_t i = 0; i < bytes; ++i) sums[i] += weight * row[i];
}

/// Heights of a triangle of height 1 over -1..1 at start, start + step, …; returns their sum.
double sample_triangle(double start, double step, std::size_t count, std::vector<double>& heights) {
  heights.resize(count);
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    heights[k] = std::max(0.0, 1 - std::fabs(start + static_cast<double>(k) * step));
    sum += heights[k];
  }
  return sum;
}

}  // namespace

AxisWeights::AxisWeights(const AxisSpec& spec) : begin_(spec.extent) {
  const double scale = spec.length / spec.resized;
  const double support = std::max(scale, 1.0);
  stride_ = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  weights_.resize(spec.count * stride_);
  const double low = std::floor(spec.start);
  const double high =
      std::min(std::ceil(spec.start + spec.length), static_cast<double>(spec.extent));
  std::vector<double> triangle;
  for (std::uint32_t i = 0; i < spec.count; ++i) {
    const double centre = spec.start + (spec.first + i + 0.5) * scale;
    const double begin = std::max(std::floor(centre - support + 0.5), low);
    const double end = std::min(std::floor(centre + support + 0.5), high);
    const double sum = sample_triangle((begin + 0.5 - centre) / support, 1 / support,
                                       static_cast<std::size_t>(end - begin), triangle);
    for (std::size_t k = 0; k < triangle.size(); ++k) {
      weights_[i * stride_ + k] =
          static_cast<std::int32_t>(0.5 + triangle[k] / sum * (1 << kFractionBits));
    }
    firsts_.push_back(static_cast<std::uint32_t>(begin));
    counts_.push_back(static_cast<std::uint32_t>(triangle.size()));
    begin_ = std::min(begin_, firsts_.back());
    end_ = std::max(end_, firsts_.back() + counts_.back());
  }
}

Resampler::Resampler(const AxisWeights& columns, const AxisWeights& rows)
    : columns_(columns), rows_(rows) {
  narrow_.reserve((rows.end() - rows.begin()) * std::size_t{columns.count()} * kPixelBytes);
}

void Resampler::add_row(std::span<const std::uint8_t> row) {
  const std::size_t filled = narrow_.size();
  if (row.size() != (columns_.end() - columns_.begin()) * kPixelBytes ||
      filled == narrow_.capacity()) {
    throw Error("Resampler: a row too many, or of the wrong length");
  }
  narrow_.resize(filled + columns_.count() * kPixelBytes);
  resample_row(row.data(), columns_, narrow_.data() + filled);
}

void Resampler::finish(std::span<std::uint8_t> planes) const {
  const std::size_t width = columns_.count(), row_bytes = width * kPixelBytes;
  const std::size_t plane = width * rows_.count();
  if (planes.size() != 3 * plane) throw Error("Resampler: no room for three planes");
  std::vector<std::int32_t> sums(row_bytes);
  for (std::uint32_t y = 0; y < rows_.count(); ++y) {
    const AxisWeights::Taps taps = rows_.taps(y);
    std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
    const std::uint8_t* row = narrow_.data() + (taps.first - rows_.begin()) * row_bytes;
    for (const std::int32_t weight : taps.weights) {
      add_weighted(row, weight, row_bytes, sums.data());
      row += row_bytes;
    }
    std::uint8_t* out = planes.data() + y * width;
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) out[c * plane + x] = to_byte(sums[x * kPixelBytes + c]);
    }
  }
}

}  // namespace impart
