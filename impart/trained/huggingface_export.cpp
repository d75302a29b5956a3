// For Hugging Face's transformers: a GPT's names and shapes are those of GPT2LMHeadModel.

#include <nlohmann/json.hpp>

#include "impart/config/model_names.h"
#include "impart/run/json_file.h"
#include "impart/trained/exports.h"
#include "impart/trained/tokenizer_json.h"

namespace impart::trained {
namespace {

using Json = nlohmann::ordered_json;

/// null if the vocabulary has none.
Json end_of_text_id(const ExportSource& source) {
  const auto end = source.tokenizer ? source.tokenizer->end_of_text() : std::nullopt;
  return end ? Json(*end) : Json();
}

Json config_of(const ExportSource& source) {
  const ModelCard& card = source.card;
  const config::GptSize& size = config::find_model_name(card.model)->gpt;
  const Json end = end_of_text_id(source);
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", card.tokens->vocabulary},
          {"n_positions", card.tokens->length},
          {"n_ctx", card.tokens->length},
          {"n_layer", size.layers},
          {"n_head", size.heads},
          {"n_embd", size.width},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", 1e-5},
          {"embd_pdrop", card.dropout},
          {"resid_pdrop", card.dropout},
          {"attn_pdrop", 0.0},
          {"initializer_range", 0.02},
          {"tie_word_embeddings", true},
          {"bos_token_id", end},
          {"eos_token_id", end},
          {"torch_dtype", "float32"}};
}

Json generation_of(const ExportSource& source) {
  const Json end = end_of_text_id(source);
  return {
      {"do_sample", false}, {"bos_token_id", end}, {"eos_token_id", end}, {"pad_token_id", end}};
}

Json tokenizer_settings(const ExportSource& source) {
  Json settings = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                   {"model_max_length", source.card.tokens->length},
                   {"clean_up_tokenization_spaces", false}};
  if (!source.tokenizer->end_of_text()) return settings;
  for (const char* token : {"bos_token", "eos_token", "pad_token"}) settings[token] = kEndOfText;
  return settings;
}

}  // namespace

std::vector<std::string> write_huggingface(const ExportSource& source, const std::string& folder) {
  run::write_json(folder + "/config.json", config_of(source));
  run::write_json(folder + "/generation_config.json", generation_of(source));
  if (!source.tokenizer) {
    return {
        "it was trained on token files, so there is no tokenizer.json: put the one there that "
        "made them"};
  }
  run::write_json(folder + "/tokenizer.json", tokenizer_json(*source.tokenizer));
  run::write_json(folder + "/tokenizer_config.json", tokenizer_settings(source));
  return {};
}

}  // namespace impart::trained
