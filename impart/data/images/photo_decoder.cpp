#include "impart/data/images/photo_decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_crop.h"
#include "impart/data/images/photo_reader.h"
#include "impart/data/images/resample.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kLongestSide = 65535;  // JPEG's

/// Which part of a picture is seen, and how: what of it becomes how many pixels along each axis.
struct PhotoView {
  AxisSpec columns, rows;
};

/// Width and height of a picture, upright.
struct PhotoSides {
  std::uint32_t width = 0, height = 0;
};

PhotoSides upright_sides(const PhotoReader& photo) {
  if (photo.orientation().transposes) return {photo.height(), photo.width()};
  return {photo.width(), photo.height()};
}

PhotoView random_view(const PhotoSides& photo, const DecodeChoices& choices, std::uint32_t size) {
  const CropBox box = choose_random_crop(photo.width, photo.height, choices);
  const auto axis = [&](std::uint32_t start, std::uint32_t length, std::uint32_t extent) {
    return AxisSpec{.start = static_cast<double>(start),
                    .length = static_cast<double>(length),
                    .extent = extent,
                    .resized = size,
                    .count = size};
  };
  return {axis(box.left, box.width, photo.width), axis(box.top, box.height, photo.height)};
}

PhotoView centre_view(const PhotoSides& photo, const PhotoSpec& spec) {
  const std::uint32_t shorter = std::min(photo.width, photo.height);
  const auto axis = [&](std::uint32_t extent) {
    const CentreCrop crop = choose_centre_crop(extent, shorter, spec.size, spec.resize);
    return AxisSpec{.length = static_cast<double>(extent),
                    .extent = extent,
                    .resized = crop.resized,
                    .first = crop.first,
                    .count = spec.size};
  };
  return {axis(photo.width), axis(photo.height)};
}

AxisSpec mirrored(AxisSpec axis) {
  axis.start = axis.extent - axis.start - axis.length;
  axis.first = axis.resized - axis.first - axis.count;
  return axis;
}

/// What of the stored picture gives this view of the upright one, once it is turned.
PhotoView as_stored(PhotoView view, const Orientation& orientation) {
  if (orientation.transposes) std::swap(view.columns, view.rows);
  if (orientation.mirrors_columns) view.columns = mirrored(view.columns);
  if (orientation.mirrors_rows) view.rows = mirrored(view.rows);
  return view;
}

/// By how much the picture may shrink before resampling if that is to halve it at least once more.
std::uint32_t spare_factor(const PhotoView& view) {
  const double spare =
      std::min(view.columns.length / view.columns.resized, view.rows.length / view.rows.resized);
  return static_cast<std::uint32_t>(std::max(1.0, spare / 2));
}

AxisSpec shrunk(AxisSpec axis, std::uint32_t factor) {
  axis.start /= factor;
  axis.length /= factor;
  axis.extent = (axis.extent + factor - 1) / factor;
  return axis;
}

std::unique_ptr<PhotoReader> open_photo(std::span<const std::byte> payload) {
  if (is_jpeg(payload)) return read_jpeg(payload);
  if (is_png(payload)) return read_png(payload);
  throw DataError(fmt::format("its {} bytes are neither a JPEG nor a PNG file", payload.size()));
}

class PhotoDecoder final : public PayloadDecoder {
 public:
  explicit PhotoDecoder(const PhotoSpec& spec) : spec_(spec) {
    if (spec_.resize == 0) spec_.resize = usual_resize(spec_.size);
  }

  void decode(std::span<const std::byte> payload, const DecodeChoices& choices,
              std::span<std::uint8_t> pixels) const override {
    const std::unique_ptr<PhotoReader> photo = open_photo(payload);
    check_size(*photo);
    const PhotoSides sides = upright_sides(*photo);
    const PhotoView view = as_stored(
        choices.random ? random_view(sides, choices, spec_.size) : centre_view(sides, spec_),
        photo->orientation());
    const std::uint32_t factor = photo->shrink(spare_factor(view));
    const AxisWeights columns(shrunk(view.columns, factor)), rows(shrunk(view.rows, factor));
    photo->start({.left = columns.begin(),
                  .top = rows.begin(),
                  .width = columns.end() - columns.begin(),
                  .height = rows.end() - rows.begin()});
    Resampler resampler(columns, rows);
    for (std::uint32_t y = rows.begin(); y < rows.end(); ++y) resampler.add_row(photo->next_row());
    photo->finish();
    resampler.finish(pixels);
    turn(pixels, spec_.size, photo->orientation());
  }

 private:
  void check_size(const PhotoReader& photo) const {
    const std::uint64_t pixels = std::uint64_t{photo.width()} * photo.height();
    const bool is_held = photo.is_held_whole();
    const std::uint64_t most = is_held ? spec_.largest_held_pixels : spec_.largest_pixels;
    if (pixels == 0 || pixels > most) {
      throw DataError(fmt::format("a photo of {}x{} pixels, where {} are the most{}", photo.width(),
                                  photo.height(), most,
                                  is_held ? " of a progressive or interlaced one" : ""));
    }
    if (std::max(photo.width(), photo.height()) > kLongestSide) {
      throw DataError(fmt::format("a photo of {}x{} pixels, where {} are the most of a side",
                                  photo.width(), photo.height(), kLongestSide));
    }
  }

  PhotoSpec spec_;
};

}  // namespace

std::shared_ptr<const PayloadDecoder> make_photo_decoder(const PhotoSpec& spec) {
  constexpr std::uint32_t kLargestSize = 4096;
  if (spec.size == 0 || spec.size > kLargestSize) {
    throw ConfigError(
        fmt::format("photos of size {}, which is not in 1..{}", spec.size, kLargestSize));
  }
  if (spec.resize != 0 && spec.resize < spec.size) {
    throw ConfigError(
        fmt::format("photos of size {} cut out of {} pixels", spec.size, spec.resize));
  }
  return std::make_shared<PhotoDecoder>(spec);
}

}  // namespace impart::data
