#include "impart/data/images/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "impart/core/error.h"

// The loops below are plain integer arithmetic, so that every machine gives the same bytes; on x86
// the loader picks a version for the processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define IMPART_FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define IMPART_FOR_EACH_PROCESSOR
#endif

namespace impart::data {
namespace {

constexpr int kFractionBits = 22;  // 32 bits less 8 of a pixel and 2 for sums beyond 255 and sign
constexpr std::size_t kLanes = 4;

/// Red, green, blue and the unused byte of a pixel as numbers; GCC and Clang compute with all four
/// at once.
using Pixel = std::int32_t __attribute__((vector_size(16)));

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);  // added before cutting off the fraction

IMPART_FOR_EACH_PROCESSOR
void widen(const std::uint8_t* bytes, std::size_t count, std::int32_t* numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = bytes[i];
}

/// Cuts the fraction off. Weights are positive and add up to 1, so only rounding can take a sum
/// beyond 255.
IMPART_FOR_EACH_PROCESSOR
void narrow(const std::int32_t* sums, std::size_t count, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::uint8_t>(std::min(sums[i] >> kFractionBits, 255));
  }
}

IMPART_FOR_EACH_PROCESSOR
void mix_pixels(const std::int32_t* row, const AxisWeights& columns, std::int32_t* sums) {
  const std::size_t taps = columns.taps(), count = columns.count();
  const std::int32_t* weights = columns.weights(0).data();
  for (std::uint32_t x = 0; x < count; ++x, weights += taps) {
    const std::int32_t* pixels = row + (columns.first(x) - columns.begin()) * kLanes;
    Pixel sum = {kHalf, kHalf, kHalf, kHalf};
    for (std::size_t k = 0; k < taps; ++k) {
      Pixel pixel;
      std::memcpy(&pixel, pixels + k * kLanes, sizeof pixel);
      sum += pixel * weights[k];
    }
    std::memcpy(sums + x * kLanes, &sum, sizeof sum);
  }
}

/// Adds a row, weighted, to the sums.
IMPART_FOR_EACH_PROCESSOR
void add_weighted(const std::uint8_t* row, std::int32_t weight, std::size_t count,
                  std::int32_t* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * row[i];
}

/// Which input pixels one wanted pixel is made of.
struct Reach {
  double centre;
  std::uint32_t begin, end;
};

std::vector<Reach> find_reaches(const AxisSpec& spec, double scale, double support) {
  const double low = std::floor(spec.start);
  const double high =
      std::min(std::ceil(spec.start + spec.length), static_cast<double>(spec.extent));
  std::vector<Reach> reaches;
  for (std::uint32_t i = 0; i < spec.count; ++i) {
    const double centre = spec.start + (spec.first + i + 0.5) * scale;
    const double begin = std::max(std::floor(centre - support + 0.5), low);
    const double end = std::min(std::floor(centre + support + 0.5), high);
    reaches.push_back({centre, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }
  return reaches;
}

/// Heights of a triangle of height 1 over centre ± support at the middles of the pixels; returns
/// their sum.
double sample_triangle(const Reach& reach, double support, std::vector<double>& heights) {
  heights.clear();
  double sum = 0;
  for (std::uint32_t pixel = reach.begin; pixel < reach.end; ++pixel) {
    heights.push_back(std::max(0.0, 1 - std::fabs((pixel - reach.centre + 0.5) * (1 / support))));
    sum += heights.back();
  }
  return sum;
}

}  // namespace

AxisWeights::AxisWeights(const AxisSpec& spec) : begin_(spec.extent) {
  const double scale = spec.length / spec.resized;
  const double support = std::max(scale, 1.0);
  const std::vector<Reach> reaches = find_reaches(spec, scale, support);
  for (const Reach& reach : reaches) {
    taps_ = std::max(taps_, reach.end - reach.begin);
    begin_ = std::min(begin_, reach.begin);
    end_ = std::max(end_, reach.end);
  }
  weights_.resize(reaches.size() * taps_);
  std::vector<double> heights;
  for (const Reach& reach : reaches) {
    const std::uint32_t first = std::min(reach.begin, end_ - taps_);
    std::int32_t* weights = weights_.data() + firsts_.size() * taps_ + (reach.begin - first);
    const double sum = sample_triangle(reach, support, heights);
    for (const double height : heights) {
      *weights++ = static_cast<std::int32_t>(0.5 + height / sum * (1 << kFractionBits));
    }
    firsts_.push_back(first);
  }
}

Resampler::Resampler(const AxisWeights& columns, const AxisWeights& rows)
    : columns_(columns),
      rows_(rows),
      numbers_((columns.end() - columns.begin()) * kLanes),
      sums_(columns.count() * kLanes) {
  lines_.reserve((rows.end() - rows.begin()) * sums_.size());
}

void Resampler::add_row(std::span<const std::uint8_t> row) {
  const std::size_t filled = lines_.size();
  if (row.size() != numbers_.size() || filled == lines_.capacity()) {
    throw Error("Resampler: a row too many, or of the wrong length");
  }
  widen(row.data(), row.size(), numbers_.data());
  mix_pixels(numbers_.data(), columns_, sums_.data());
  lines_.resize(filled + sums_.size());
  narrow(sums_.data(), sums_.size(), lines_.data() + filled);
}

void Resampler::finish(std::span<std::uint8_t> planes) {
  const std::size_t width = columns_.count(), line_bytes = width * kLanes;
  const std::size_t plane = width * rows_.count();
  if (planes.size() != 3 * plane) throw Error("Resampler: no room for three planes");
  std::vector<std::uint8_t> pixels(line_bytes);
  for (std::uint32_t y = 0; y < rows_.count(); ++y) {
    std::fill(sums_.begin(), sums_.end(), kHalf);
    const std::uint8_t* line = lines_.data() + (rows_.first(y) - rows_.begin()) * line_bytes;
    for (const std::int32_t weight : rows_.weights(y)) {
      if (weight != 0) add_weighted(line, weight, line_bytes, sums_.data());
      line += line_bytes;
    }
    narrow(sums_.data(), line_bytes, pixels.data());
    std::uint8_t* out = planes.data() + y * width;
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) out[c * plane + x] = pixels[x * kLanes + c];
    }
  }
}

}  // namespace impart::data
