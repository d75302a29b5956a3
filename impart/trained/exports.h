#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/trained/trained_model.h"

namespace impart::trained {

/// A trained model, read.
struct ExportSource {
  TrainedModel model;
  ModelCard card;
  data::TokenizerPtr tokenizer = nullptr;  ///< null if there is none
};

/// Writes into the folder what another library needs besides model.safetensors. Returns what a user
/// should know, a sentence each.
using Exporter = std::vector<std::string>(const ExportSource& source, const std::string& folder);

Exporter write_torchvision, write_huggingface;

struct ExportEntry : Entry<Exporter> {
  bool (*knows)(const ModelCard& card);  ///< whether the library has such a model
};

bool is_resnet(const ModelCard& card);
bool is_gpt(const ModelCard& card);

/// Where models can go. One more is a function in a file of its own, and a row here.
inline constexpr ExportEntry kExports[] = {
    {{"torchvision", "weights, transforms.json, classes.json, and load.py, which builds the model",
      write_torchvision},
     is_resnet},
    {{"huggingface", "a folder for from_pretrained, with tokenizer.json and generation_config.json",
      write_huggingface},
     is_gpt},
};
static_assert(names_are_unique(kExports));

struct ExportSpec {
  std::string to;          ///< row of kExports
  std::string folder;      ///< to be made
  bool overwrite = false;  ///< replace an earlier export
};

/// Makes the folder, complete or not at all: what the row writes, and model.safetensors,
/// model.json, config.yaml and tokenizer.txt, with which `impart evaluate` and others take it.
/// Returns what a user should know. ConfigError if the library has no such model, naming those it
/// has, or the folder holds something else.
std::vector<std::string> export_model(const TrainedModel& model, const ExportSpec& spec);

}  // namespace impart::trained
