#include <algorithm>
#include <string_view>
#include <utility>

#include "impart/report/sections.h"

namespace impart::report {
namespace {

constexpr std::size_t kMostTiles = 12;

/// Sections whose first picture may stand on the first screen, the most telling first.
constexpr std::string_view kLeading[] = {"images", "box-plots", "curves", "data-map"};

/// The first row of pictures, without those that take more room than a first screen has.
Gallery beginning_of(const Gallery& gallery) {
  Gallery start = gallery;
  start.rows.resize(1);
  auto& tiles = start.rows.front().tiles;
  tiles.resize(std::min(tiles.size(), kMostTiles));
  start.caption += ": " + std::exchange(start.rows.front().title, "");
  return start;
}

std::optional<Block> first_picture(const Section& section) {
  for (const Block& block : section.blocks) {
    if (const auto* gallery = std::get_if<Gallery>(&block)) return beginning_of(*gallery);
    if (std::holds_alternative<Figure>(block)) return block;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Block> choose_lead(const Document& document) {
  for (const std::string_view id : kLeading) {
    for (const Section& section : document.sections) {
      if (section.id != id) continue;
      if (auto picture = first_picture(section)) return picture;
    }
  }
  return std::nullopt;
}

}  // namespace impart::report
