#include "impart/cost/recorded_losses.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/config/config_file.h"
#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/importance/importance_table.h"
#include "impart/run/summary.h"

namespace impart::cost {
namespace {

namespace fs = std::filesystem;

void check_files(const std::string& folder) {
  if (!fs::exists(folder + "/config.yaml")) {
    throw DataError(fmt::format("{}: is no run directory: it has no config.yaml", folder));
  }
  if (!fs::exists(folder + "/history.npy")) {
    throw ConfigError(
        fmt::format("{}: has no history.npy: a run writes its losses when it ends, with "
                    "importance.history=true, which changes no result",
                    folder));
  }
}

/// As many as summary.json says.
void check_count(const std::string& path, std::uint64_t found, std::uint64_t examples) {
  if (found == examples) return;
  throw DataError(
      fmt::format("{}: is of {} examples; summary.json says {}", path, found, examples));
}

}  // namespace

RecordedLosses read_recorded_losses(const std::string& folder) {
  check_files(folder);
  const config::RunConfig config =
      config::load_config(folder + "/config.yaml", {}, config::kAnyProgram);
  const run::SummaryFile summary = run::read_summary(folder);
  const std::string history = folder + "/history.npy", labels = folder + "/labels.npy";
  RecordedLosses recorded{.folder = folder,
                          .workers = config.workers.count,
                          .by_epoch = importance::read_history(history)};
  recorded.examples = recorded.by_epoch.front().size();
  const auto said = static_cast<std::uint64_t>(summary.number("examples").value_or(0));
  check_count(history, recorded.examples, said);
  if (fs::exists(labels)) {
    recorded.labels = read_integers(labels, "label");
    check_count(labels, recorded.labels.size(), said);
  }
  if (const auto bytes = summary.number("payload_bytes_total")) {
    recorded.payload_bytes = *bytes / static_cast<double>(said);
  }
  return recorded;
}

}  // namespace impart::cost
