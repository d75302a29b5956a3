#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/data/text/datasets.h"

namespace impart::data {

/// What the loaders of text share.

/// The training file: the root itself if it is no folder, else the one in it that the spec names,
/// else the first of `names` that is there; "" if none is. DataError if there is no root, or not
/// the file that the spec names.
std::string find_train_file(const TextSpec& spec, std::span<const std::string_view> names);

/// The same for the test file, which may be missing. Beside a root that is no folder, only one that
/// the spec names is looked for.
std::string find_test_file(const TextSpec& spec, std::span<const std::string_view> names);

/// find_train_file, and DataError if there is none.
std::string require_train_file(const TextSpec& spec, std::span<const std::string_view> names);

/// ConfigError if no part can be cut off for testing.
void check_test_share(const TextSpec& spec);

/// The tokenizer that the spec asks for: loaded, or made for the corpus. With `end_of_text` a saved
/// one must have that token; DataError if it does not.
TokenizerPtr choose_tokenizer(const TextSpec& spec, std::span<const CorpusText> corpus,
                              bool end_of_text);

}  // namespace impart::data
