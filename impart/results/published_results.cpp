// The published CSV files of the DAIS 2023 paper as results.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "impart/core/csv.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/results/result_groups.h"
#include "impart/results/results.h"

namespace impart::results {
namespace {

namespace fs = std::filesystem;
using Row = std::vector<std::string>;

constexpr std::string_view kEpochPrefix = "epoch_";

/// The paper's words for ours.
constexpr std::pair<std::string_view, std::string_view> kTheirWords[] = {
    {"roundrobin", "stripes"},     {"steps", "blocks"},         {"none", "random"},
    {"variance", "loss-variance"}, {"average", "loss-average"},
};

std::string our_word(const std::string& word) {
  for (const auto& [theirs, ours] : kTheirWords) {
    if (word == theirs) return std::string(ours);
  }
  return word;
}

/// One file: a header, and a row per run.
class PublishedFile {
 public:
  explicit PublishedFile(const std::string& path) {
    const InputFile file(path);
    std::string_view text = file.text();
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      Row row = split_csv_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (row.size() == 1 && row[0].empty()) continue;
      if (header_.empty()) {
        read_header(std::move(row));
      } else {
        rows_.emplace_back(number, std::move(row));
      }
    }
    if (rows_.empty()) throw DataError("has no runs");
  }

  const std::vector<std::pair<std::size_t, Row>>& rows() const { return rows_; }

  const std::string& text(const Row& row, const std::string& column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) throw DataError(fmt::format("has no column '{}'", column));
    if (row.size() != header_.size()) {
      throw DataError(fmt::format("{} fields, but {} columns", row.size(), header_.size()));
    }
    return row[found->second];
  }

  double number(const Row& row, const std::string& column) const {
    const std::string& field = text(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
      throw DataError(fmt::format("{} '{}' is not a number", column, field));
    }
    return value;
  }

  std::size_t epochs() const { return epochs_; }

 private:
  void read_header(Row row) {
    header_ = std::move(row);
    for (std::size_t i = 0; i < header_.size(); ++i) columns_[header_[i]] = i;
    while (columns_.contains(fmt::format("{}{}", kEpochPrefix, epochs_ + 1))) ++epochs_;
  }

  Row header_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::pair<std::size_t, Row>> rows_;
  std::size_t epochs_ = 0;
};

RunResult read_row(const PublishedFile& file, const Row& row) {
  RunResult run;
  const double missing = std::nan("");
  for (std::size_t i = 0; i < file.epochs(); ++i) {
    run.epochs.push_back(
        {.epoch = static_cast<double>(i),
         .step = missing,
         .seconds = missing,
         .test_loss = missing,
         .test_accuracy = file.number(row, fmt::format("{}{}", kEpochPrefix, i + 1))});
  }
  run.summary["best_accuracy"] = file.number(row, "best_accuracy");
  run.summary["best_epoch"] = file.number(row, "best_epoch") - 1;
  if (!run.epochs.empty()) run.summary["final_accuracy"] = run.epochs.back().test_accuracy;
  run.summary["epochs"] = static_cast<double>(file.epochs());
  return run;
}

SettingTexts settings_of(const PublishedFile& file, const Row& row) {
  const std::string heuristic = our_word(file.text(row, "heuristic"));
  SettingTexts settings = {{"data.name", file.text(row, "dataset")},
                           {"model.name", file.text(row, "model")},
                           {"partition.heuristic", heuristic}};
  if (heuristic == "random") {
    settings.emplace_back("partition.interval", "1");
    return settings;
  }
  settings.emplace_back("importance.notion", our_word(file.text(row, "measure")));
  settings.emplace_back("partition.warmup", file.text(row, "warmup_epochs"));
  settings.emplace_back("partition.interval", file.text(row, "interval_epochs"));
  return settings;
}

/// The runs of one file, by their settings; what cannot be read is skipped.
void read_file(const std::string& path, const std::string& metric, std::vector<ArmResults>& arms,
               std::vector<SkippedRun>& skipped) {
  try {
    const PublishedFile file(path);
    for (const auto& [line, row] : file.rows()) {
      const std::string where = fmt::format("{}:{}", path, line);
      try {
        const SettingTexts settings = settings_of(file, row);
        RunResult run = read_row(file, row);
        run.folder = where;
        if (!run.number(metric)) throw DataError(fmt::format("has no '{}'", metric));
        auto arm = std::find_if(arms.begin(), arms.end(),
                                [&](const auto& one) { return one.settings == settings; });
        if (arm == arms.end()) {
          arm = arms.insert(arms.end(), {.name = short_name(settings), .settings = settings});
        }
        arm->runs.push_back(std::move(run));
      } catch (const DataError& error) {
        skipped.push_back({where, error.what()});
      }
    }
  } catch (const DataError& error) {
    skipped.push_back({path, error.what()});
  }
}

/// Smallest warm-up first, then the smallest interval; the files come in the order of their names.
bool comes_before(const ArmResults& a, const ArmResults& b) {
  const auto rank = [](const ArmResults& arm) {
    const auto number = [&](const char* key) {
      return std::atoi(std::string(setting(arm.settings, key)).c_str());
    };
    return std::tuple(!is_vanilla(arm.settings), setting(arm.settings, "partition.heuristic"),
                      setting(arm.settings, "importance.notion"), number("partition.warmup"),
                      number("partition.interval"));
  };
  return rank(a) < rank(b);
}

/// The notion is part of a name only where a group has several.
void shorten_names(ResultGroup& group) {
  std::map<std::string_view, int> notions;
  for (const ArmResults& arm : group.arms) ++notions[setting(arm.settings, "importance.notion")];
  notions.erase("");
  if (notions.size() > 1) return;
  for (ArmResults& arm : group.arms) {
    SettingTexts shown = arm.settings;
    std::erase_if(shown, [](const auto& one) { return one.first == "importance.notion"; });
    arm.name = short_name(shown);
  }
}

}  // namespace

Results read_published_results(const std::string& folder, const ResultsSpec& spec) {
  if (!fs::is_directory(folder)) throw DataError(folder + ": there is no such folder");
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".csv") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  Results results{.name = fs::path(folder).lexically_normal().filename().string()};
  if (results.name.empty()) results.name = fs::path(folder).parent_path().filename().string();
  if (!spec.metric.empty()) results.metric = spec.metric;
  results.target = spec.target;

  std::vector<std::vector<ArmResults>> arms_of(paths.size());
  std::vector<std::vector<SkippedRun>> skipped_of(paths.size());
  for_each_in_parallel(paths.size(), [&](std::size_t i) {
    read_file(paths[i], results.metric, arms_of[i], skipped_of[i]);
  });
  std::vector<ArmResults> arms;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::move(arms_of[i].begin(), arms_of[i].end(), std::back_inserter(arms));
    std::move(skipped_of[i].begin(), skipped_of[i].end(), std::back_inserter(results.skipped));
  }
  if (arms.empty()) throw DataError(folder + ": no results in it: no CSV file with runs");
  std::stable_sort(arms.begin(), arms.end(), comes_before);
  make_names_unique(arms);
  results.groups = group_arms(std::move(arms));
  for (ResultGroup& group : results.groups) shorten_names(group);
  choose_baselines(
      results.groups, [](const ArmResults& arm) { return is_vanilla(arm.settings); },
      spec.baseline);
  return results;
}

}  // namespace impart::results
