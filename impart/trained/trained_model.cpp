#include "impart/trained/trained_model.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/core/known_files.h"
#include "impart/run/checkpoint.h"

namespace impart::trained {
namespace {

namespace fs = std::filesystem;

/// The first that is there; "" if none is.
std::string first_file(const std::array<std::string, 2>& paths) {
  for (const std::string& path : paths) {
    if (is_file(path)) return path;
  }
  return "";
}

TrainedModel model_in(const std::string& folder, const std::string& files, const std::string& run) {
  const auto find = [&](const char* name) {
    return first_file({fmt::format("{}/{}", files, name), fmt::format("{}/{}", run, name)});
  };
  return {.folder = folder,
          .files = files,
          .config = run + "/config.yaml",
          .card = find(kCardFile),
          .tokenizer = find(kTokenizerFile)};
}

std::string newest_checkpoint(const std::string& run) {
  std::string damage;
  const auto found = run::find_checkpoint(run, [&](const std::string& why) { damage = why; });
  if (found) return *found;
  throw DataError(damage.empty() ? fmt::format("{}: the run has no checkpoint yet", run)
                                 : fmt::format("{}: no checkpoint is whole: {}", run, damage));
}

/// What may be different when a model is used: where and on what, not what was learned.
bool may_change(std::string_view override_text) {
  constexpr std::string_view kMayChange[] = {"data.", "eval.", "device=", "threads="};
  for (const std::string_view start : kMayChange) {
    if (override_text.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

TrainedModel find_trained_model(const std::string& folder) {
  if (is_file(folder)) {
    throw DataError(fmt::format(
        "{}: is a file; expected a run directory, or a folder that 'impart export' made", folder));
  }
  if (is_file(folder + "/manifest.json")) {
    return model_in(folder, folder, (fs::path(folder) / ".." / "..").lexically_normal().string());
  }
  if (is_file(folder + "/" + kWeightsFile) && is_file(folder + "/" + kCardFile)) {
    return model_in(folder, folder, folder);
  }
  if (is_file(folder + "/config.yaml")) {
    return model_in(folder, newest_checkpoint(folder), folder);
  }
  throw DataError(fmt::format(
      "{}: is no run directory (it has no config.yaml), nor a folder that 'impart export' made",
      folder));
}

ModelCard read_card(const TrainedModel& model) {
  if (!model.card.empty()) return read_card(model.card);
  throw DataError(fmt::format(
      "{0}: has no {1}: the run is from an earlier version; 'impart evaluate {0}' makes it from "
      "the run's data",
      model.folder, kCardFile));
}

config::RunConfig read_config(const TrainedModel& model,
                              const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) {
    if (may_change(text)) continue;
    throw ConfigError(fmt::format(
        "override '{}': of a trained model only data.…, eval.…, device and threads can be changed",
        text));
  }
  if (!is_file(model.config)) {
    throw DataError(fmt::format("{}: there is no such file", model.config));
  }
  // A model that was trained on a GPU can be used anywhere, in full precision.
  std::vector<std::string> changes = overrides;
  changes.emplace_back("precision=fp32");
  return config::load_config(model.config, changes, config::kAnyProgram);
}

data::TokenizerPtr read_tokenizer(const TrainedModel& model) {
  return model.tokenizer.empty() ? nullptr : data::load_tokenizer(model.tokenizer);
}

}  // namespace impart::trained
