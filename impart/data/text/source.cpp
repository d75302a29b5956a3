#include "impart/data/text/source.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kUsualVocabulary = 8192;

/// A file, or a pipe.
bool can_be_read(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

/// The file that the spec names, else the first of the names that the folder has, else "".
std::string find_in_folder(const fs::path& folder, const std::string& named,
                           std::span<const std::string_view> names) {
  if (!named.empty()) {
    if (can_be_read(folder / named)) return (folder / named).string();
    throw DataError(fmt::format("{}: there is no such file", (folder / named).string()));
  }
  for (const std::string_view name : names) {
    if (can_be_read(folder / name)) return (folder / name).string();
  }
  return "";
}

}  // namespace

std::string find_train_file(const TextSpec& spec, std::span<const std::string_view> names) {
  if (spec.root.empty()) {
    throw ConfigError(
        fmt::format("data set '{}' needs a file or folder: data.root=PATH", spec.name));
  }
  std::error_code ignored;
  if (!fs::exists(spec.root, ignored)) {
    throw DataError(fmt::format("{}: there is no such file or folder", spec.root));
  }
  if (can_be_read(spec.root)) return spec.root;
  return find_in_folder(spec.root, spec.train_file, names);
}

std::string find_test_file(const TextSpec& spec, std::span<const std::string_view> names) {
  if (!can_be_read(spec.root)) return find_in_folder(spec.root, spec.test_file, names);
  return find_in_folder(fs::path(spec.root).parent_path(), spec.test_file, {});
}

std::string require_train_file(const TextSpec& spec, std::span<const std::string_view> names) {
  std::string path = find_train_file(spec, names);
  if (path.empty()) {
    throw DataError(fmt::format("{}: there is no {}", spec.root, fmt::join(names, ", nor ")));
  }
  return path;
}

void check_test_share(const TextSpec& spec) {
  if (!(spec.test_share > 0 && spec.test_share < 1)) {
    throw ConfigError(
        fmt::format("a test share of {}: it must lie between 0 and 1", spec.test_share));
  }
}

TokenizerPtr choose_tokenizer(const TextSpec& spec, std::span<const CorpusText> corpus,
                              bool end_of_text) {
  if (spec.vocabulary_file.empty()) {
    const auto& entry = find_entry(kTokenizers, "tokenizer", spec.tokenizer);
    return entry.function(corpus,
                          {.vocabulary = spec.vocabulary == 0 ? kUsualVocabulary : spec.vocabulary,
                           .end_of_text = end_of_text});
  }
  TokenizerPtr tokenizer = load_tokenizer(spec.vocabulary_file);
  if (end_of_text && !tokenizer->end_of_text()) {
    throw DataError(fmt::format("{}: has no token for the end of a text, which documents need",
                                spec.vocabulary_file));
  }
  return tokenizer;
}

}  // namespace impart::data
