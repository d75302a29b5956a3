#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "impart/core/named_table.h"

/// Which models of text there are. This header costs nothing to include; who runs a model includes
/// classifier.h, and dropout.h where it has dropout. They take token ids, [B, T], int64.
namespace impart::models {

class Classifier;

struct TextModelSpec {
  std::int64_t vocabulary = 256;  ///< token ids are 0 .. vocabulary - 1
  std::int64_t length = 128;      ///< most tokens of an example
  std::int64_t classes = 2;       ///< of text classifiers
  std::int64_t pad = 0;           ///< the id that fills up short examples; of text classifiers
  double dropout = 0;
  bool tied = true;  ///< language models: the last layer's weight is the embedding
};

/// Makes a model on the CPU, in training mode, its parameters zero (norms: one) until
/// initialise_parameters or load_model. ConfigError if the spec makes no sense.
using TextModelFactory = std::shared_ptr<Classifier>(const TextModelSpec& spec);

TextModelFactory make_gpt_tiny, make_gpt_mini, make_gpt2_small, make_lstm, make_text_encoder,
    make_bag_of_embeddings;

enum class TextTask {
  kLanguage,        ///< logits [B, T, vocabulary]: which token comes after each
  kClassification,  ///< logits [B, classes]
};

struct TextModelEntry : Entry<TextModelFactory> {
  TextTask task;
};

/// Sizes without the token embedding.
inline constexpr TextModelEntry kTextModels[] = {
    {{"gpt-tiny", "GPT of 4 layers, 4 heads, width 128, 0.8 M parameters", make_gpt_tiny},
     TextTask::kLanguage},
    {{"gpt-mini", "GPT of 6 layers, 6 heads, width 192, 2.7 M parameters", make_gpt_mini},
     TextTask::kLanguage},
    {{"gpt2-small", "GPT of 12 layers, 12 heads, width 768, 85 M parameters", make_gpt2_small},
     TextTask::kLanguage},
    {{"lstm", "LSTM of 2 layers, width 256, 1.1 M parameters", make_lstm}, TextTask::kLanguage},
    {{"text-encoder",
      "transformer that looks both ways, 2 layers, 4 heads, width 128, mean over tokens",
      make_text_encoder},
     TextTask::kClassification},
    {{"bag-of-embeddings", "mean of the tokens' embeddings of width 128, a linear layer",
      make_bag_of_embeddings},
     TextTask::kClassification},
};
static_assert(names_are_unique(kTextModels));

/// ConfigError if a number is not positive, the pad id no token, or dropout not in [0, 1). Every
/// factory calls it first.
void check_spec(const TextModelSpec& spec);

}  // namespace impart::models
