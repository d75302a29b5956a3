#include "impart/models/images/models.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::models {

void check_spec(const ModelSpec& spec) {
  if (spec.classes > 0 && spec.channels > 0 && spec.image_size > 0) return;
  throw ConfigError(fmt::format(
      "a model needs at least one class, channel and pixel, not {} classes, {} channels and images "
      "of {}x{}",
      spec.classes, spec.channels, spec.image_size, spec.image_size));
}

}  // namespace impart::models
