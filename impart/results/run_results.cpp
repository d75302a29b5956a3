#include "impart/results/run_results.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/config/yaml_file.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/run/metrics_log.h"
#include "impart/run/run_files.h"
#include "impart/run/summary.h"

namespace impart::results {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kRunFiles[] = {"run.lock", "config.yaml", "summary.json", "metrics.jsonl",
                                     "env.json", "DONE",        "FAILED",       "PREEMPTED"};

std::string first_line(const std::string& path) {
  const InputFile file(path);
  const std::string_view text = file.text();
  return std::string(text.substr(0, text.find('\n')).substr(0, 300));
}

std::string epochs_so_far(const std::string& folder) {
  if (!fs::exists(folder + "/metrics.jsonl")) return "before its first epoch";
  std::size_t epochs = 0;
  run::visit_records(folder + "/metrics.jsonl", [&](const Json&, std::size_t) { ++epochs; });
  return fmt::format("after {} epoch{}", epochs, epochs == 1 ? "" : "s");
}

void require_done(const std::string& folder) {
  if (!fs::is_directory(folder)) throw DataError("there is no such folder");
  if (fs::is_empty(folder)) throw DataError("empty");
  if (!looks_like_run(folder)) throw DataError("not a run directory: nothing in it is of a run");
  const auto status = run::read_status(folder);
  if (!status) {
    throw DataError(fmt::format("not finished: running, or killed, {}", epochs_so_far(folder)));
  }
  if (*status == run::RunStatus::kPreempted) {
    throw DataError(fmt::format("not finished: preempted {}", epochs_so_far(folder)));
  }
  if (*status == run::RunStatus::kFailed) {
    throw DataError(fmt::format("failed: {}", first_line(folder + "/FAILED")));
  }
}

double number_in(const Json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end() || !found->is_number()) return std::nan("");
  return found->get<double>();
}

/// What changed the partition before an epoch; null if nothing did.
const Json* placement_change(const Json& record) {
  const auto placement = record.find("placement");
  return placement == record.end() || !placement->is_object() ? nullptr : &*placement;
}

/// Whether something moved from one worker to another because of a decision.
bool is_repartitioning(const Json& change) {
  const auto event = change.find("event");
  if (event == change.end() || !event->is_string()) return false;
  return *event == "heuristic" || *event == "exchange";
}

std::vector<EpochResult> read_epochs(const std::string& folder) {
  std::vector<EpochResult> epochs;
  double seconds = 0;
  EpochResult placed;  // how parts were at the last change
  run::visit_records(folder + "/metrics.jsonl", [&](const Json& record, std::size_t) {
    seconds += number_in(record, "seconds");
    const Json* change = placement_change(record);
    if (change != nullptr) {
      placed.mean_class_skew = number_in(*change, "mean_class_skew");
      placed.mixed = number_in(*change, "mixed");
      placed.seen = number_in(*change, "seen");
    }
    epochs.push_back({.epoch = number_in(record, "epoch"),
                      .step = number_in(record, "step"),
                      .seconds = seconds,
                      .test_loss = number_in(record, "test_loss"),
                      .test_accuracy = number_in(record, "test_accuracy"),
                      .test_perplexity = number_in(record, "test_perplexity"),
                      .test_bits_per_byte = number_in(record, "test_bits_per_byte"),
                      .repartitioned = change != nullptr && is_repartitioning(*change),
                      .mean_class_skew = placed.mean_class_skew,
                      .mixed = placed.mixed,
                      .seen = placed.seen,
                      .dissimilarity = number_in(record, "dissimilarity")});
  });
  return epochs;
}

void flatten(const YAML::Node& node, const std::string& path, SettingTexts& settings) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const auto key = entry.first.as<std::string>();
      flatten(entry.second, path.empty() ? key : path + "." + key, settings);
    }
    return;
  }
  if (node.IsScalar() || node.IsNull()) {
    settings.emplace_back(path, node.IsNull() ? "" : node.Scalar());
    return;
  }
  std::string items;
  for (const auto& item : node) items += (items.empty() ? "" : ", ") + YAML::Dump(item);
  settings.emplace_back(path, "[" + items + "]");
}

}  // namespace

bool looks_like_run(const std::string& folder) {
  for (const char* name : kRunFiles) {
    if (fs::exists(folder + "/" + name)) return true;
  }
  return false;
}

RunResult read_run(const std::string& folder, const std::string& wanted_hash) {
  require_done(folder);
  run::SummaryFile summary = run::read_summary(folder);
  RunResult run{.folder = folder,
                .seed = summary.seed,
                .config_hash = summary.config_hash,
                .summary = std::move(summary.numbers)};
  if (!wanted_hash.empty() && run.config_hash != wanted_hash) {
    throw DataError(fmt::format("its configuration is {}, but the study's is {}",
                                run.config_hash.empty() ? "unknown" : run.config_hash,
                                wanted_hash));
  }
  run.epochs = read_epochs(folder);
  const auto epochs = run.number("epochs");
  if (epochs && *epochs != static_cast<double>(run.epochs.size())) {
    throw DataError(fmt::format("metrics.jsonl has {} of {} epochs", run.epochs.size(), *epochs));
  }
  if (fs::exists(folder + "/config.yaml")) {
    run.config = InputFile(folder + "/config.yaml").text();
  }
  return run;
}

SettingTexts flatten_config(const std::string& text) {
  SettingTexts settings;
  try {
    flatten(config::parse_yaml("config.yaml", text), "", settings);
  } catch (const ConfigError& error) {
    throw DataError(error.what());
  } catch (const YAML::Exception& error) {
    throw DataError(fmt::format("config.yaml is not valid YAML: {}", error.what()));
  }
  return settings;
}

}  // namespace impart::results
