#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/text/rows.h"
#include "impart/data/text/source.h"

namespace impart::data {
namespace {

constexpr std::string_view kTrainNames[] = {"train.tsv", "train.csv"};
constexpr std::string_view kTestNames[] = {"dev.tsv", "dev.csv", "valid.tsv", "valid.csv",
                                           "val.tsv", "val.csv", "test.tsv",  "test.csv"};

/// The rows of one part, and the file they come from.
struct RowPart {
  std::string path;
  std::vector<TextRow> rows;
};

/// Draws rows for testing, since rows may be ordered by class, or alternate; the others stay. Both
/// parts keep the order of the file.
RowPart draw_test_rows(RowPart& train, const TextSpec& spec) {
  const std::uint64_t count = train.rows.size();
  const auto wanted = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(count) * spec.test_share));
  if (count < 2) {
    throw DataError(fmt::format("{}: one row, and none to cut off for testing", train.path));
  }
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  RandomStream random({.seed = spec.seed, .purpose = Purpose("text-test-rows")});
  shuffle(std::span(order), random);
  std::vector<bool> drawn(count);
  for (std::uint64_t k = 0; k < wanted; ++k) drawn[order[k]] = true;
  RowPart kept{.path = train.path, .rows = {}}, test{.path = train.path, .rows = {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    (drawn[i] ? test : kept).rows.push_back(train.rows[i]);
  }
  train = std::move(kept);
  return test;
}

/// Classes by the text of their label.
class LabelNames {
 public:
  explicit LabelNames(const RowPart& train) {
    for (const TextRow& row : train.rows) numbers_.emplace(row.label.text, 0);
    for (const auto& [name, number] : numbers_) names_.emplace_back(name);
    std::int64_t ignored = 0;
    if (std::all_of(names_.begin(), names_.end(),
                    [&](const std::string& name) { return parse(name, ignored); })) {
      std::stable_sort(names_.begin(), names_.end(), [](const auto& a, const auto& b) {
        std::int64_t left = 0, right = 0;
        parse(a, left);
        parse(b, right);
        return left < right;
      });
    }
    for (std::size_t k = 0; k < names_.size(); ++k) {
      numbers_.find(names_[k])->second = static_cast<std::uint32_t>(k);
    }
  }

  std::uint32_t number_of(const RowPart& part, const TextRow& row) const {
    const auto found = numbers_.find(row.label.text);
    if (found == numbers_.end()) {
      throw DataError(fmt::format("{}:{}: label '{}' is none of the {} of the training rows",
                                  part.path, row.line, row.label.text, names_.size()));
    }
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static bool parse(std::string_view text, std::int64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
  }

  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
};

std::vector<TextDocument> documents_of(const RowPart& part) {
  std::vector<TextDocument> documents;
  for (const TextRow& row : part.rows) {
    documents.push_back({.text = row.text.text, .line = row.line, .offset = row.text.offset});
  }
  return documents;
}

/// Each row an example: its first `length` tokens, and its class.
TokenSet label_texts(const RowPart& part, const Tokenizer& tokenizer, const LabelNames& labels,
                     std::uint32_t length) {
  TokenSet set{.vocabulary = tokenizer.vocabulary(),
               .length = length,
               .classes = static_cast<std::uint32_t>(labels.names().size()),
               .class_names = labels.names(),
               .files = {part.path}};
  set.counts.documents = part.rows.size();
  for (const TextRow& row : part.rows) {
    const std::uint64_t start = set.tokens.size();
    tokenizer.append_tokens(row.text.text, {.path = part.path, .offset = row.text.offset},
                            set.tokens);
    const std::uint64_t found = set.tokens.size() - start;
    const auto kept = std::min<std::uint64_t>(found, length);
    set.tokens.resize(start + kept);
    set.counts.tokens += found;
    set.counts.left_out += found - kept;
    set.counts.truncated += found > kept ? 1 : 0;
    std::uint64_t bytes = 0;
    for (std::uint64_t k = start; k < start + kept; ++k)
      bytes += tokenizer.piece(set.tokens[k]).size();
    set.starts.push_back(start);
    set.lengths.push_back(static_cast<std::uint32_t>(kept));
    set.bytes.push_back(bytes);
    set.labels.push_back(labels.number_of(part, row));
    set.origins.push_back({.line = row.line, .offset = row.text.offset, .length = bytes});
  }
  return set;
}

std::vector<CorpusText> corpus_of(const RowPart& train, const RowPart& test) {
  std::vector<CorpusText> corpus;
  for (const RowPart* part : {&train, &test}) {
    for (const TextRow& row : part->rows) {
      corpus.push_back({.text = row.text.text,
                        .place = {.path = part->path, .offset = row.text.offset},
                        .train = part == &train});
    }
  }
  return corpus;
}

std::vector<std::string> split_at_commas(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    parts.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
    while (names.starts_with(' ')) names.remove_prefix(1);
  }
  return parts;
}

HeaderLine header_of(const std::string& word) {
  if (word == "auto") return HeaderLine::kGuess;
  if (word == "true") return HeaderLine::kYes;
  if (word == "false") return HeaderLine::kNo;
  throw ConfigError(fmt::format("data.header is '{}'; allowed: auto, true, false", word));
}

TextColumns columns_of(const TextSpec& spec) {
  return {.text = split_at_commas(spec.text_column),
          .label = spec.label_column,
          .header = header_of(spec.header)};
}

std::vector<std::string> notes_of(const TextRows& train, const std::optional<TextRows>& test) {
  std::vector<std::string> notes;
  if (!train.note().empty()) notes.push_back(train.note());
  if (test && !test->note().empty()) notes.push_back(test->note());
  return notes;
}

}  // namespace

TextData load_text_table(const TextSpec& spec) {
  check_blocks(spec.blocks);
  check_test_share(spec);
  const TextRows train_table(require_train_file(spec, kTrainNames), columns_of(spec));
  const std::string test_path = find_test_file(spec, kTestNames);
  RowPart train{.path = train_table.path(),
                .rows = {train_table.rows().begin(), train_table.rows().end()}};
  std::optional<TextRows> test_table;
  RowPart test;
  if (test_path.empty()) {
    test = draw_test_rows(train, spec);
  } else {
    test_table.emplace(test_path, columns_of(spec));
    test = {.path = test_path, .rows = {test_table->rows().begin(), test_table->rows().end()}};
  }

  const bool is_corpus = spec.label_column.empty();
  const TokenizerPtr tokenizer = choose_tokenizer(spec, corpus_of(train, test), is_corpus);
  TextData data{
      .train = {}, .test = {}, .tokenizer = tokenizer, .notes = notes_of(train_table, test_table)};
  if (is_corpus) {
    data.train = cut_documents(documents_of(train), {train.path}, *tokenizer, spec.blocks);
    data.test = cut_documents(documents_of(test), {test.path}, *tokenizer, spec.blocks);
  } else {
    const LabelNames labels(train);
    data.train = label_texts(train, *tokenizer, labels, spec.blocks.length);
    data.test = label_texts(test, *tokenizer, labels, spec.blocks.length);
  }
  keep_examples(data.train, spec.limit);
  return data;
}

}  // namespace impart::data
