#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/text/source.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrainTexts[] = {"train.txt"};
constexpr std::string_view kTestTexts[] = {"valid.txt", "val.txt", "dev.txt", "test.txt"};

/// All *.txt in a folder and below, in the order of their names, but for one.
std::vector<std::string> list_text_files(const std::string& folder, const std::string& but) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() == ".txt" && at->is_regular_file() && path != fs::path(but)) {
      paths.push_back(path.string());
    }
  }
  if (error) throw DataError(fmt::format("{}: cannot list: {}", folder, error.message()));
  if (paths.empty()) throw DataError(fmt::format("{}: there is no *.txt", folder));
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Files of one part, open as long as its documents are in use.
struct OpenTexts {
  std::vector<std::string> paths;
  std::vector<InputFile> files = {};
  std::vector<TextDocument> documents = {};
};

OpenTexts open_texts(std::vector<std::string> paths) {
  OpenTexts texts{.paths = std::move(paths)};
  for (const std::string& path : texts.paths) {
    const InputFile& file = texts.files.emplace_back(path);
    if (file.text().empty()) throw DataError(fmt::format("{}: empty", path));
    const auto number = static_cast<std::uint32_t>(texts.documents.size());
    texts.documents.push_back({.text = file.text(), .file = number});
  }
  return texts;
}

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Takes the last part of all bytes away from `documents`, which keeps at least one byte.
std::vector<TextDocument> cut_test_part(std::vector<TextDocument>& documents, double share) {
  std::uint64_t total = 0;
  for (const TextDocument& document : documents) total += document.text.size();
  auto kept = static_cast<std::uint64_t>(static_cast<double>(total) * (1 - share));
  std::size_t number = 0;
  while (kept > documents[number].text.size()) kept -= documents[number++].text.size();
  TextDocument tail = documents[number];
  while (kept > 1 && kept < tail.text.size() && is_inside_character(tail.text[kept])) --kept;
  kept = std::max<std::uint64_t>(kept, 1);
  tail.text.remove_prefix(kept);
  tail.offset = kept;
  std::vector<TextDocument> test;
  if (!tail.text.empty()) test.push_back(tail);
  test.insert(test.end(), documents.begin() + static_cast<std::ptrdiff_t>(number) + 1,
              documents.end());
  documents.resize(number + 1);
  documents[number].text = documents[number].text.substr(0, kept);
  return test;
}

void add_corpus(std::vector<CorpusText>& corpus, const OpenTexts& texts,
                std::span<const TextDocument> documents, bool train) {
  for (const TextDocument& document : documents) {
    corpus.push_back({.text = document.text,
                      .place = {.path = texts.paths[document.file], .offset = document.offset},
                      .train = train});
  }
}

}  // namespace

TextData load_text_files(const TextSpec& spec) {
  check_blocks(spec.blocks);
  check_test_share(spec);
  const std::string train_path = find_train_file(spec, kTrainTexts);
  const std::string test_path = find_test_file(spec, kTestTexts);
  OpenTexts train = open_texts(train_path.empty() ? list_text_files(spec.root, test_path)
                                                  : std::vector{train_path});
  OpenTexts test = test_path.empty() ? OpenTexts{.paths = train.paths} : open_texts({test_path});
  if (test_path.empty()) test.documents = cut_test_part(train.documents, spec.test_share);

  std::vector<CorpusText> corpus;
  add_corpus(corpus, train, train.documents, true);
  add_corpus(corpus, test, test.documents, false);
  const TokenizerPtr tokenizer = choose_tokenizer(spec, corpus, train.paths.size() > 1);
  TextData data{.train = cut_documents(train.documents, train.paths, *tokenizer, spec.blocks),
                .test = cut_documents(test.documents, test.paths, *tokenizer, spec.blocks),
                .tokenizer = tokenizer};
  keep_examples(data.train, spec.limit);
  return data;
}

}  // namespace impart::data
