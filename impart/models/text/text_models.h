#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "impart/config/model_names.h"
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

using TextModelEntry = Entry<TextModelFactory>;

/// What they are called and what they are: config/model_names.h. Models of language give logits
/// [B, T, vocabulary], which token comes after each; the others [B, classes].
inline constexpr TextModelEntry kTextModels[] = {
    config::model_entry("gpt-tiny", make_gpt_tiny),
    config::model_entry("gpt-mini", make_gpt_mini),
    config::model_entry("gpt2-small", make_gpt2_small),
    config::model_entry("lstm", make_lstm),
    config::model_entry("text-encoder", make_text_encoder),
    config::model_entry("bag-of-embeddings", make_bag_of_embeddings),
};
static_assert(config::has_all_models(kTextModels, data::Input::kTokens));

/// ConfigError if a number is not positive, the pad id no token, or dropout not in [0, 1). Every
/// factory calls it first.
void check_spec(const TextModelSpec& spec);

}  // namespace impart::models
