#include "impart/data/mds/sidecars.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/data/mds/columns.h"

namespace impart::data {
namespace {

using nlohmann::json;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void check_length(const std::string& path, std::uint64_t found, std::uint64_t wanted) {
  if (found == wanted) return;
  throw DataError(
      fmt::format("{}: has {} numbers, but the shards have {} samples", path, found, wanted));
}

void check_labels(const std::string& path, const std::vector<std::uint32_t>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < kMostMdsClasses) continue;
    throw DataError(fmt::format("{}: label {} of sample {} is not in 0..{}", path, labels[i], i,
                                kMostMdsClasses - 1));
  }
}

/// Reads a file of JSON, if there is one, by `parse`.
template <class Parse>
void read_json(const std::string& path, Parse&& parse) {
  if (!exists(path)) return;
  const InputFile file(path);
  try {
    parse(parse_json(file.text(), path));
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: not what is expected there: {}", path, error.what()));
  }
}

void write_json(const std::string& path, const json& value) {
  write_file(path, value.dump() + "\n");
}

std::vector<float> read_truth(const std::string& path) {
  const ScoresFile file(path, "truth");
  const Scores scores = file.scores();
  std::vector<float> truth(scores.size());
  for (std::uint64_t i = 0; i < truth.size(); ++i)
    truth[i] = static_cast<float>(scores[ExampleId{i}]);
  return truth;
}

}  // namespace

MdsSidecars read_mds_sidecars(const std::string& folder, std::uint64_t samples) {
  MdsSidecars sidecars;
  if (const std::string path = folder + "/labels.npy"; exists(path)) {
    sidecars.labels = read_integers(path, "label");
    check_length(path, sidecars.labels.size(), samples);
    check_labels(path, sidecars.labels);
  }
  if (const std::string path = folder + "/truth.npy"; exists(path)) {
    sidecars.truth = read_truth(path);
    check_length(path, sidecars.truth.size(), samples);
  }
  if (const std::string path = folder + "/sums.npy"; exists(path)) {
    sidecars.sums = read_integers(path, "sum");
    check_length(path, sidecars.sums.size(), samples);
  }
  read_json(folder + "/classes.json",
            [&](const json& names) { names.get_to(sidecars.class_names); });
  const std::string channels = folder + "/channels.json";
  read_json(channels, [&](const json& numbers) {
    numbers.at("mean").get_to(sidecars.mean);
    numbers.at("std").get_to(sidecars.std);
  });
  if (sidecars.mean.size() != sidecars.std.size()) {
    throw DataError(fmt::format("{}: {} means, but {} deviations", channels, sidecars.mean.size(),
                                sidecars.std.size()));
  }
  return sidecars;
}

void write_mds_sidecars(const std::string& folder, const ExampleSet& set) {
  write_integers(folder + "/labels.npy", "label", set.labels);
  if (!set.truth.empty()) write_scores(folder + "/truth.npy", "truth", set.truth);
  if (!set.class_names.empty()) write_json(folder + "/classes.json", set.class_names);
  if (!set.mean.empty()) {
    write_json(folder + "/channels.json", {{"mean", set.mean}, {"std", set.std}});
  }
}

}  // namespace impart::data
