#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "impart/report/analysis.h"

namespace impart::report {

// What a run wrote about single examples: importance.csv, history.npy, labels.npy, hidden.npy,
// images.jsonl, partitions/.

/// Columns of a run's importance.csv by the names of their notions.
using NotionColumns = std::map<std::string, std::vector<double>, std::less<>>;

/// The names in the header of importance.csv that are notions; none if there is no such file.
std::vector<std::string> recorded_notions(const std::string& run_folder);

/// DataError if a column is missing or broken.
NotionColumns read_notions(const std::string& run_folder, const std::vector<std::string>& names);

/// history.npy for up to `most` examples, evenly spaced: the losses of each epoch. Empty if there
/// is no such file; DataError if it is not what it should be.
std::vector<std::vector<double>> read_history(const std::string& run_folder, std::size_t most);

std::string images_path(const std::string& run_folder);

/// The classes of examples.
struct Labels {
  std::vector<std::uint32_t> numbers = {};  ///< of each example; empty if they are not known
  std::vector<std::string> names = {};      ///< of the numbers
};

/// labels.npy, with the names that images.jsonl knows; others are "class 7". DataError if a file is
/// not what it should be.
Labels read_labels(const std::string& run_folder);

/// hidden.npy: in how many epochs a selection hid each example. Empty if there is no such file;
/// DataError if it is not what it should be.
std::vector<std::uint32_t> read_hidden(const std::string& run_folder);

/// The saved partitions of a run, by epoch, as paths.
std::map<std::uint32_t, std::string> saved_partitions(const std::string& run_folder);

/// Every k-th of `count` examples so that at most `most` remain: the same for every report.
std::vector<std::size_t> evenly_spaced(std::size_t count, std::size_t most);

}  // namespace impart::report
