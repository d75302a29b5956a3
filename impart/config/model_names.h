#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "impart/core/named_table.h"
#include "impart/data/task.h"

namespace impart::config {

/// What stands between the convolutions of an image model.
enum class Norm {
  kBatch,  ///< batch norm: statistics over images, of each worker or of several
  kGroup,  ///< group norm: of each image by itself
};

/// How large a GPT is; all 0 for other models.
struct GptSize {
  std::uint32_t layers = 0, heads = 0, width = 0;
};

/// What can be known of a model without LibTorch. Its factory is a row of models/images/models.h or
/// models/text/text_models.h, which takes name and summary from here.
struct ModelName {
  std::string_view name;
  std::string_view summary;
  data::Input input;         ///< what it is given
  data::Task task;           ///< what it learns
  bool has_stem = false;     ///< model.stem changes it
  bool has_dropout = false;  ///< model.dropout changes it
  /// Its norms, and channels of all of them together; 0: it has none, and model.norm changes
  /// nothing.
  std::uint32_t norms = 0, norm_channels = 0;
  GptSize gpt = {};
};

/// All models; those of text without the size of their token embedding.
inline constexpr ModelName kModelNames[] = {
    {.name = "resnet18",
     .summary = "residual network, 18 layers, 11.2 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .has_stem = true,
     .norms = 20,
     .norm_channels = 4800},
    {.name = "resnet34",
     .summary = "residual network, 34 layers, 21.3 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .has_stem = true,
     .norms = 36,
     .norm_channels = 8512},
    {.name = "resnet50",
     .summary = "residual network of bottlenecks, 50 layers, 23.5 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .has_stem = true,
     .norms = 53,
     .norm_channels = 26560},
    {.name = "small-cnn",
     .summary = "three convolutions with norms, 0.1 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .norms = 3,
     .norm_channels = 224},
    {.name = "fast-cnn",
     .summary = "seven convolutions with norms for small images, 3.0 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .norms = 6,
     .norm_channels = 1408},
    {.name = "fast-cnn-wide",
     .summary = "ten convolutions with norms and shortcuts for small images, 9.9 M parameters",
     .input = data::Input::kImages,
     .task = data::kClasses,
     .norms = 9,
     .norm_channels = 3072},
    {.name = "mlp",
     .summary = "two hidden layers of 256, no norm",
     .input = data::Input::kImages,
     .task = data::kClasses},
    {.name = "gpt-tiny",
     .summary = "GPT of 4 layers, 4 heads, width 128, 0.8 M parameters",
     .input = data::Input::kTokens,
     .task = data::kLanguage,
     .has_dropout = true,
     .gpt = {4, 4, 128}},
    {.name = "gpt-mini",
     .summary = "GPT of 6 layers, 6 heads, width 192, 2.7 M parameters",
     .input = data::Input::kTokens,
     .task = data::kLanguage,
     .has_dropout = true,
     .gpt = {6, 6, 192}},
    {.name = "gpt2-small",
     .summary = "GPT of 12 layers, 12 heads, width 768, 85 M parameters",
     .input = data::Input::kTokens,
     .task = data::kLanguage,
     .has_dropout = true,
     .gpt = {12, 12, 768}},
    {.name = "lstm",
     .summary = "LSTM of 2 layers, width 256, 1.1 M parameters",
     .input = data::Input::kTokens,
     .task = data::kLanguage,
     .has_dropout = true},
    {.name = "text-encoder",
     .summary = "transformer that looks both ways, 2 layers, 4 heads, width 128, mean over tokens",
     .input = data::Input::kTokens,
     .task = data::kClasses,
     .has_dropout = true},
    {.name = "bag-of-embeddings",
     .summary = "mean of the tokens' embeddings of width 128, a linear layer",
     .input = data::Input::kTokens,
     .task = data::kClasses,
     .has_dropout = true},
};
static_assert(names_are_unique(kModelNames));

/// nullptr if there is none of that name.
constexpr const ModelName* find_model_name(std::string_view name) {
  const auto* found = std::find_if(std::begin(kModelNames), std::end(kModelNames),
                                   [&](const ModelName& row) { return row.name == name; });
  return found == std::end(kModelNames) ? nullptr : found;
}

/// The row that a factory belongs to. It does not compile if there is none of that name.
template <class Factory>
consteval Entry<Factory> model_entry(std::string_view name, Factory* factory) {
  const ModelName* row = find_model_name(name);
  return {row->name, row->summary, factory};
}

/// Whether a table of factories has all models of this input, in their order, and no others.
template <class Row, std::size_t N>
consteval bool has_all_models(const Row (&table)[N], data::Input input) {
  const Row* row = table;
  for (const ModelName& model : kModelNames) {
    if (model.input != input) continue;
    if (row == table + N || row->name != model.name) return false;
    ++row;
  }
  return row == table + N;
}

}  // namespace impart::config
