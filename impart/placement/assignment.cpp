#include "impart/placement/assignment.h"

#include <algorithm>
#include <limits>

namespace impart::placement {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Hungarian method in its shortest-path form. Prices keep row_price[i] + column_price[j] >=
/// weight(i, j), with equality on matched pairs, so a full matching has the largest sum.
class Matcher {
 public:
  Matcher(std::span<const std::uint32_t> weights, std::uint32_t size)
      : weights_(weights),
        size_(size),
        row_price_(size),
        column_price_(size),
        row_of_column_(size, kNone),
        column_of_row_(size, kNone) {}

  std::vector<std::uint32_t> solve() {
    match_greedily();
    for (std::uint32_t row = 0; row < size_; ++row) {
      if (column_of_row_[row] == kNone) augment_from(row);
    }
    return column_of_row_;
  }

 private:
  std::int64_t weight(std::uint32_t row, std::uint32_t column) const {
    return weights_[std::size_t{row} * size_ + column];
  }

  /// Every row asks for its heaviest column, a free one if there are several.
  void match_greedily() {
    for (std::uint32_t row = 0; row < size_; ++row) {
      const auto row_weights = weights_.subspan(std::size_t{row} * size_, size_);
      const std::uint32_t largest = *std::max_element(row_weights.begin(), row_weights.end());
      row_price_[row] = largest;
      for (std::uint32_t column = 0; column < size_; ++column) {
        if (row_weights[column] != largest || row_of_column_[column] != kNone) continue;
        match(row, column);
        break;
      }
    }
  }

  void match(std::uint32_t row, std::uint32_t column) {
    row_of_column_[column] = row;
    column_of_row_[row] = column;
  }

  /// Dijkstra over columns, by how much the prices would have to give way, to a free column; then
  /// matches along the path.
  void augment_from(std::uint32_t start) {
    std::vector<std::int64_t> distance(size_, std::numeric_limits<std::int64_t>::max());
    std::vector<std::uint32_t> previous(size_, kNone);  // the row from which a column is reached
    std::vector<std::uint32_t> open(size_);             // columns whose distance is not final yet
    for (std::uint32_t column = 0; column < size_; ++column) open[column] = column;
    std::vector<std::uint32_t> closed;
    std::uint32_t row = start;
    std::int64_t walked = 0;
    while (true) {
      std::size_t nearest = 0;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const std::uint32_t column = open[i];
        const std::int64_t step =
            walked + row_price_[row] + column_price_[column] - weight(row, column);
        if (step < distance[column]) {
          distance[column] = step;
          previous[column] = row;
        }
        if (distance[column] < distance[open[nearest]]) nearest = i;
      }
      const std::uint32_t column = open[nearest];
      walked = distance[column];
      if (row_of_column_[column] == kNone) {
        lower_prices(start, closed, distance, walked);
        return match_path(start, column, previous);
      }
      closed.push_back(column);
      open[nearest] = open.back();
      open.pop_back();
      row = row_of_column_[column];
    }
  }

  void lower_prices(std::uint32_t start, std::span<const std::uint32_t> closed,
                    std::span<const std::int64_t> distance, std::int64_t walked) {
    row_price_[start] -= walked;
    for (const std::uint32_t column : closed) {
      row_price_[row_of_column_[column]] -= walked - distance[column];
      column_price_[column] += walked - distance[column];
    }
  }

  void match_path(std::uint32_t start, std::uint32_t column,
                  std::span<const std::uint32_t> previous) {
    while (true) {
      const std::uint32_t row = previous[column];
      const std::uint32_t next = column_of_row_[row];
      match(row, column);
      if (row == start) return;
      column = next;
    }
  }

  std::span<const std::uint32_t> weights_;
  std::uint32_t size_;
  std::vector<std::int64_t> row_price_;
  std::vector<std::int64_t> column_price_;
  std::vector<std::uint32_t> row_of_column_;
  std::vector<std::uint32_t> column_of_row_;
};

}  // namespace

std::vector<std::uint32_t> assign_for_largest_sum(std::span<const std::uint32_t> weights,
                                                  std::uint32_t size) {
  return Matcher(weights, size).solve();
}

}  // namespace impart::placement
