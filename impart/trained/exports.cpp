#include "impart/trained/exports.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/model_names.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/known_files.h"
#include "impart/data/payloads/staged_folder.h"

namespace impart::trained {
namespace {

/// All that an export may hold: what --overwrite may delete.
constexpr const char* kFilesOfExports[] = {kWeightsFile,
                                           kCardFile,
                                           kTokenizerFile,
                                           "config.yaml",
                                           "transforms.json",
                                           "classes.json",
                                           "load.py",
                                           "config.json",
                                           "generation_config.json",
                                           "tokenizer.json",
                                           "tokenizer_config.json"};

void copy_file(const std::string& from, const std::string& to) {
  const InputFile file(from);
  OutputFile copy(to);
  copy.write(file.bytes());
  copy.commit();
}

/// The models of the table that a row takes.
std::vector<std::string_view> models_for(const ExportEntry& row) {
  std::vector<std::string_view> names;
  for (const config::ModelName& model : config::kModelNames) {
    if (row.knows({.model = std::string(model.name)})) names.push_back(model.name);
  }
  return names;
}

void check_known(const ExportEntry& row, const ExportSource& source) {
  if (!source.card.is_own && row.knows(source.card)) return;
  std::string others;
  for (const ExportEntry& other : kExports) {
    others += fmt::format("{}{} takes {}", others.empty() ? "" : ", ", other.name,
                          fmt::join(models_for(other), ", "));
  }
  throw ConfigError(fmt::format("{}: {} has no model '{}'; {}; its weights as they are: {}",
                                source.model.folder, row.name, source.card.model, others,
                                source.model.weights()));
}

void check_replaceable(const ExportSpec& spec) {
  std::error_code ignored;
  if (!std::filesystem::exists(spec.folder, ignored)) return;
  if (!spec.overwrite) {
    throw ConfigError(fmt::format(
        "{}: is there already; take another folder (-o DIR), or --overwrite", spec.folder));
  }
  const KnownFiles files = sort_files(spec.folder, kFilesOfExports);
  if (files.foreign.empty()) return;
  throw ConfigError(fmt::format(
      "{}: --overwrite replaces only exports, and this folder holds {}; take another folder",
      spec.folder, list_some(files.foreign)));
}

}  // namespace

bool is_resnet(const ModelCard& card) {
  return card.model.starts_with("resnet");
}

bool is_gpt(const ModelCard& card) {
  const config::ModelName* row = config::find_model_name(card.model);
  return row != nullptr && row->gpt.layers > 0;
}

std::vector<std::string> export_model(const TrainedModel& model, const ExportSpec& spec) {
  const ExportEntry& row = find_entry(kExports, "library", spec.to);
  const ExportSource source{
      .model = model, .card = read_card(model), .tokenizer = read_tokenizer(model)};
  check_known(row, source);
  check_replaceable(spec);
  data::StagedFolder folder({.destination = spec.folder, .replace = spec.overwrite});
  const auto path = [&](const char* name) { return folder.path() + "/" + name; };
  std::vector<std::string> remarks = row.function(source, folder.path());
  copy_file(model.weights(), path(kWeightsFile));
  copy_file(model.config, path("config.yaml"));
  write_card(path(kCardFile), source.card);
  if (source.tokenizer) data::save_tokenizer(*source.tokenizer, path(kTokenizerFile));
  folder.commit();
  return remarks;
}

}  // namespace impart::trained
