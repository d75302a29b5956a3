#pragma once

#include <nlohmann/json_fwd.hpp>

#include "impart/data/text/tokenizer.h"

namespace impart::trained {

/// What the end of a text is called in Hugging Face's files.
inline constexpr const char* kEndOfText = "<|endoftext|>";

/// A tokenizer as the tokenizer.json of Hugging Face's `tokenizers`: the same tokens of every text
/// that is UTF-8, but that its own reads "<|endoftext|>" in a text as the end of it, and leaves out
/// characters that a `char` tokenizer does not have.
///
///   char    a model BPE without merges, so that every character is a token
///   byte    the same, behind ByteLevel, which writes bytes as characters
///   bpe     the merges; a Split behind ByteLevel cuts words as data/text/token_words.h does, where
///           each character is a byte
///
/// DataError if two tokens stand for the same bytes: a vocabulary there is a map from texts.
nlohmann::ordered_json tokenizer_json(const data::Tokenizer& tokenizer);

}  // namespace impart::trained
