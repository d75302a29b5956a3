#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace impart::placement {

/// Class labels as numbers 0..count-1, in the order of the labels, whatever numbers those are.
struct Classes {
  std::vector<std::uint32_t> of_example;
  std::uint32_t count = 0;
};

Classes number_classes(std::span<const std::uint32_t> labels);

}  // namespace impart::placement
