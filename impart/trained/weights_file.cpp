#include "impart/trained/weights_file.h"

#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/config/model_names.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/core/known_files.h"
#include "impart/trained/trained_model.h"

namespace impart::trained {
namespace {

namespace fs = std::filesystem;

/// What torch.save writes is a zip file, or in old versions a pickle itself.
bool is_pickle(std::string_view content) {
  return content.starts_with("PK\x03\x04") || content.starts_with("\x80");
}

std::string check_file(const std::string& path) {
  if (is_pickle(InputFile(path).text().substr(0, 4))) {
    throw DataError(fmt::format(
        "{0}: is a pickle of PyTorch, which can run programs and is not read; convert it: python3 "
        "-c \"import torch, safetensors.torch as s; s.save_file(torch.load('{0}', "
        "weights_only=True), 'model.safetensors')\"",
        path));
  }
  return path;
}

/// The names of the safetensors files in a folder.
std::vector<std::string> weights_in(const std::string& folder) {
  constexpr const char* kPattern[] = {"*.safetensors"};
  std::vector<std::string> names = sort_files(folder, kPattern).known;
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".safetensors"); });
  return names;
}

}  // namespace

std::string find_weights(const std::string& from) {
  if (is_file(from)) return check_file(from);
  std::error_code ignored;
  if (!fs::is_directory(from, ignored)) {
    throw DataError(fmt::format("model.from: {}: there is no such file or folder", from));
  }
  if (is_file(fs::path(from) / kWeightsFile)) return from + "/" + kWeightsFile;
  if (is_file(fs::path(from) / "config.yaml")) return find_trained_model(from).weights();
  const std::vector<std::string> found = weights_in(from);
  if (found.size() == 1) return from + "/" + found.front();
  throw DataError(fmt::format(
      "model.from: {}: {}; expected a safetensors file, a folder with model.safetensors, or a run",
      from,
      found.empty() ? "has no *.safetensors" : fmt::format("has {}; name one", list_some(found))));
}

void check_architecture(const std::string& weights, const ModelCard& card) {
  const std::string path = (fs::path(weights).parent_path() / "config.json").string();
  const config::ModelName* model = config::find_model_name(card.model);
  if (!is_file(path) || model == nullptr || model->gpt.heads == 0) return;
  const InputFile file(path);
  const nlohmann::json json = parse_json(file.text(), path);
  const auto member = [&](const char* name, const nlohmann::json& usual) {
    return json.is_object() && json.contains(name) ? json.at(name) : usual;
  };
  const nlohmann::json type = member("model_type", "gpt2");
  if (type != "gpt2") {
    throw DataError(
        fmt::format("{}: is of a model {}; {} is a GPT-2", path, shown(type), card.model));
  }
  const nlohmann::json heads = member("n_head", model->gpt.heads);
  if (heads == model->gpt.heads) return;
  throw DataError(fmt::format("{}: has {} heads, and {} has {}", path, shown(heads), card.model,
                              model->gpt.heads));
}

}  // namespace impart::trained
