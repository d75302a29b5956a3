#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "impart/models/classifier.h"
#include "impart/trained/trained_model.h"

namespace impart::train {

/// How the next token is chosen.
struct SamplingSpec {
  std::uint32_t tokens = 100;  ///< at most so many; a text may end before
  bool greedy = false;         ///< always the most probable, the first of equals
  double temperature = 1;      ///< that logits are divided by; above 0
  std::uint32_t top_k = 0;     ///< only among so many of the most probable; 0: among all
  std::uint64_t seed = 1;      ///< the same choices on every machine for the same logits
};

/// Writes with a language model, token by token. It sees its last `length` tokens, as in training,
/// so a longer text forgets its beginning.
class Writer {
 public:
  /// ConfigError if the model did not learn a language.
  Writer(const trained::TrainedModel& model, torch::Device device);

  /// Null if it was trained on token files.
  const data::TokenizerPtr& tokenizer() const { return tokenizer_; }

  /// The tokens of a text, or of numbers if there is no tokenizer. An empty prompt is the end of a
  /// text, or a line end. ConfigError or DataError if it cannot be.
  std::vector<data::Token> read_prompt(const std::string& prompt) const;

  /// What follows the prompt, up to the end of a text, which is not part of it. `on_token` is told
  /// each at once, if set.
  std::vector<data::Token> write(std::vector<data::Token> prompt, const SamplingSpec& spec,
                                 const std::function<void(data::Token)>& on_token = {}) const;

 private:
  std::vector<float> next_logits(const std::vector<data::Token>& tokens) const;

  trained::ModelCard card_;
  torch::Device device_;
  std::shared_ptr<models::Classifier> network_;
  data::TokenizerPtr tokenizer_;
};

/// Chooses by logits; `uniform` is in [0, 1), and not used if greedy.
data::Token choose_token(std::vector<float> logits, const SamplingSpec& spec, double uniform);

}  // namespace impart::train
