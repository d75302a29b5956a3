// The picture of `impart io -o FILE.svg`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace impart::cli {

struct IoCurve {
  std::string name;
  std::vector<double> seconds = {};  ///< for each number of nodes
};

struct IoCurves {
  std::string what = "seconds of an epoch";
  std::vector<std::uint32_t> nodes = {};
  std::vector<IoCurve> lines = {};
};

/// Draws seconds against nodes, one line for each strategy. DataError if gnuplot cannot.
void draw_curves(const IoCurves& curves, const std::string& path);

}  // namespace impart::cli
