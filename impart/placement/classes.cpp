#include "impart/placement/classes.h"

#include <algorithm>
#include <unordered_map>

namespace impart::placement {

Classes number_classes(std::span<const std::uint32_t> labels) {
  std::unordered_map<std::uint32_t, std::uint32_t> number_of;
  for (const std::uint32_t label : labels) number_of.try_emplace(label, 0);
  std::vector<std::uint32_t> distinct;
  distinct.reserve(number_of.size());
  for (const auto& [label, number] : number_of) distinct.push_back(label);
  std::sort(distinct.begin(), distinct.end());
  for (std::uint32_t number = 0; number < distinct.size(); ++number) {
    number_of[distinct[number]] = number;
  }
  Classes classes{.of_example = {}, .count = static_cast<std::uint32_t>(distinct.size())};
  classes.of_example.reserve(labels.size());
  for (const std::uint32_t label : labels) classes.of_example.push_back(number_of.at(label));
  return classes;
}

}  // namespace impart::placement
