#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// Photographs with classes: how they are decoded and normalised. 0: images of 224 pixels a side.
ExampleSet photo_set(std::shared_ptr<const PayloadSource> payloads,
                     std::vector<std::uint32_t> labels, std::vector<std::string> classes,
                     std::uint32_t image_size);

}  // namespace impart::data
