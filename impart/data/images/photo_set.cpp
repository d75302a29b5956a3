#include "impart/data/images/photo_set.h"

#include <iterator>
#include <utility>

#include "impart/data/images/photo_crop.h"
#include "impart/data/images/photo_decoder.h"

namespace impart::data {

ExampleSet photo_set(std::shared_ptr<const PayloadSource> payloads,
                     std::vector<std::uint32_t> labels, std::vector<std::string> classes,
                     std::uint32_t image_size) {
  const std::uint32_t size = image_size == 0 ? PhotoSpec{}.size : image_size;
  return {.payloads = std::move(payloads),
          .decoder = make_photo_decoder({.size = size}),
          .channels = 3,
          .height = size,
          .width = size,
          .classes = static_cast<std::uint32_t>(classes.size()),
          .labels = std::move(labels),
          .mean = {std::begin(kPhotoMean), std::end(kPhotoMean)},
          .std = {std::begin(kPhotoStd), std::end(kPhotoStd)},
          .resize = usual_resize(size),
          .class_names = std::move(classes)};
}

}  // namespace impart::data
