#pragma once

#include <string>
#include <vector>

namespace impart::cli {

/// Cells in columns: the first column to the left, the others to the right. Cells are ASCII.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// One line per row, the header first.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "146.5 MiB", or the plain number if `raw`.
std::string bytes_text(double bytes, bool raw);

/// Whole numbers as such, others with one decimal.
std::string count_text(double count);

}  // namespace impart::cli
