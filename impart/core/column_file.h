#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "impart/core/file.h"
#include "impart/core/progress.h"
#include "impart/core/scores.h"

namespace impart {

/// One number per example, in a file. The extension says how:
///   .csv  a header line that names the columns `id` and the wanted one (others are ignored), then
///         one line per example in any order, ids 0..N-1 each exactly once;
///   .npy  a one-dimensional NumPy array, element i for example i.
/// Whatever is wrong becomes a DataError that names the file and, for .csv, the line.

/// Importance scores as they were read: float32 and float64 arrays are viewed in place, not copied.
class ScoresFile {
 public:
  explicit ScoresFile(const std::string& path, std::string_view column = "importance",
                      const Progress& progress = {});
  Scores scores() const;

 private:
  std::vector<double> parsed_;
  std::optional<InputFile> mapped_;
  Scores mapped_scores_;
};

/// Whole numbers from 0 to 2^32 - 1, such as owners or class labels. They may also come from
///   .txt  one number per line, line i + 1 for example i.
std::vector<std::uint32_t> read_integers(const std::string& path, std::string_view column,
                                         const Progress& progress = {});

/// Writes in the same formats, complete or not at all. Floats keep their width in .npy and are
/// written with as many digits as it takes to read the same number back in .csv.
void write_scores(const std::string& path, std::string_view column, Scores scores,
                  const Progress& progress = {});
void write_integers(const std::string& path, std::string_view column,
                    std::span<const std::uint32_t> values, const Progress& progress = {});

/// ConfigError if the extension is neither .csv nor .npy: for checking an output before the work.
void check_column_path(const std::string& path);
/// The same for a file that read_integers is to read: .txt will do, too.
void check_integers_path(const std::string& path);

/// Where a file of one number per example has this example's, for messages: "owners.csv:17",
/// "owners.npy: element 15".
std::string place_of_example(const std::string& path, std::uint64_t example);

}  // namespace impart
