// impart data blocks: the examples of a text data set, chosen ones or the hardest, with their text.

#include "cli/data/blocks.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/terminal_text.h"
#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "impart/placement/ranking.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct BlocksOptions {
  data::TextSpec spec = {.name = {}};
  bool unpacked = false;
  std::string part = "train";
  std::vector<std::uint64_t> ids;
  std::string importance, column = "importance";
  std::uint64_t top = 20;
  bool easiest = false;
  std::size_t width = 60;
  bool json = false;
  std::string save_vocabulary;
};

/// An example to show, and its importance if it was chosen by it.
struct Choice {
  ExampleId id{0};
  std::optional<double> importance = {};
};

/// What kind of text a path is, by its name or the files in it.
std::string recognise_text(const std::string& root) {
  for (const data::DatasetEntry& row : data::kDatasets) {
    const bool is_made = row.input == data::Input::kTokens && !row.reads_files;
    if (is_made && row.name == root && !is_there(root)) return root;
  }
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {".bin", "tokens"}, {".tsv", "table"}, {".csv", "table"}, {".txt", "text"}};
  for (const auto& [suffix, kind] : kKinds) {
    const fs::path train = fs::path(root) / fmt::format("train{}", suffix);
    if (root.ends_with(suffix) || is_there(train)) return std::string(kind);
  }
  return "text";
}

std::vector<Choice> choose_by_importance(const BlocksOptions& options, const data::TokenSet& set) {
  const ScoresFile file(options.importance, options.column);
  const Scores scores = file.scores();
  if (scores.size() != set.count()) {
    throw DataError(
        fmt::format("{}: {} scores for {} examples: not of this part of this data set, "
                    "or of other blocks",
                    options.importance, scores.size(), set.count()));
  }
  std::vector<ExampleId> ranking = placement::rank_by_importance(scores);
  if (options.easiest) std::reverse(ranking.begin(), ranking.end());
  ranking.resize(std::min<std::size_t>(ranking.size(), options.top));
  std::vector<Choice> choices;
  for (const ExampleId id : ranking) choices.push_back({id, scores[id]});
  return choices;
}

std::vector<Choice> choose(const BlocksOptions& options, const data::TokenSet& set) {
  if (!options.importance.empty()) return choose_by_importance(options, set);
  std::vector<Choice> choices;
  for (const std::uint64_t id : options.ids) {
    if (id >= set.count()) {
      throw ConfigError(fmt::format("--ids: there is no example {}; the {} part has {}", id,
                                    options.part, set.count()));
    }
    choices.push_back({ExampleId{id}});
  }
  if (!options.ids.empty()) return choices;
  for (std::uint64_t id = 0; id < std::min(set.count(), options.top); ++id) {
    choices.push_back({ExampleId{id}});
  }
  return choices;
}

/// The text with line ends and the like as \n, and bytes that are not UTF-8 harmless.
std::string escaped(std::string_view text) {
  std::string shown;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      shown += "\\n";
    } else if (letter == '\t') {
      shown += "\\t";
    } else if (letter == '\\') {
      shown += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += letter;
    }
  }
  return harmless(shown);
}

ordered_json to_json(const data::TextData& data, const data::TokenSet& set, const Choice& choice) {
  const std::uint64_t i = index(choice.id);
  const data::TextOrigin& origin = set.origins[i];
  ordered_json json = {{"id", i}};
  if (choice.importance) json["importance"] = *choice.importance;
  if (!set.is_corpus()) json["label"] = set.class_names[set.labels[i]];
  if (!set.truth.empty()) json["truth"] = set.truth[i];
  json["file"] = harmless(set.files[origin.file]);
  if (origin.line > 0) json["line"] = origin.line;
  json[set.origins_count_tokens ? "token" : "byte"] = origin.offset;
  json["length"] = origin.length;
  json["tokens"] = set.lengths[i];
  json["text"] = escaped(data::text_of(set, data.tokenizer.get(), choice.id));
  return json;
}

void print_choice(const BlocksOptions& options, const data::TextData& data,
                  const data::TokenSet& set, const Choice& choice) {
  const std::string text = escaped(data::text_of(set, data.tokenizer.get(), choice.id));
  std::string facts;
  if (choice.importance) facts += fmt::format("  {:.6g}", *choice.importance);
  if (!set.is_corpus()) {
    facts += fmt::format("  {}", harmless(set.class_names[set.labels[index(choice.id)]]));
  }
  if (!set.truth.empty()) facts += fmt::format("  truth {:.3f}", set.truth[index(choice.id)]);
  answer("{}  {}{}  {}\n", index(choice.id), harmless(data::describe_origin(set, choice.id)), facts,
         options.width == 0 ? text : cut(text, options.width));
}

void run_blocks(BlocksOptions options) {
  data::TextSpec& spec = options.spec;
  if (spec.name.empty()) spec.name = recognise_text(spec.root);
  spec.blocks.pack = !options.unpacked;
  data::TextData data;
  {
    ProgressLine line;
    line.phase("opening " + spec.root);
    data = data::load_text(spec);
  }
  if (!options.save_vocabulary.empty()) {
    if (!data.tokenizer) throw ConfigError("--save-vocabulary: tokens without a vocabulary");
    data::save_tokenizer(*data.tokenizer, options.save_vocabulary);
  }
  for (const std::string& note : data.notes) say("impart: {}\n", harmless(note));
  const data::TokenSet& set = options.part == "train" ? data.train : data.test;
  const std::vector<Choice> choices = choose(options, set);
  if (options.json) {
    ordered_json result = {{"part", options.part},
                           {"examples", set.count()},
                           {"length", set.length},
                           {"vocabulary", set.vocabulary},
                           {"documents", set.counts.documents},
                           {"tokens", set.counts.tokens},
                           {"left_out", set.counts.left_out},
                           {"truncated", set.counts.truncated},
                           {"blocks", ordered_json::array()}};
    for (const Choice& choice : choices) result["blocks"].push_back(to_json(data, set, choice));
    answer("{}\n", result.dump(2));
    return;
  }
  answer("{}: {} examples of {} tokens, vocabulary of {}; {} of {} tokens left out\n", options.part,
         set.count(), set.length, set.vocabulary, set.counts.left_out, set.counts.tokens);
  for (const Choice& choice : choices) print_choice(options, data, set, choice);
}

void add_text_options(CLI::App& command, data::TextSpec& spec, BlocksOptions& options) {
  command.add_option("PATH", spec.root, "a text file, or a folder with text; or 'generated'")
      ->required();
  command.add_option("--name", spec.name,
                     "text, tokens, table or generated; found out if left out");
  command.add_option("--tokenizer", spec.tokenizer, "byte, char or bpe")->capture_default_str();
  command.add_option("--vocabulary", spec.vocabulary, "how many tokens (bpe: 8192 if left out)");
  command.add_option("--vocabulary-file", spec.vocabulary_file, "a saved vocabulary to use");
  command.add_option("--length", spec.blocks.length, "tokens that a model sees of an example")
      ->capture_default_str();
  command.add_option("--stride", spec.blocks.stride,
                     "tokens between blocks; the length if left out");
  command.add_flag("--unpacked", options.unpacked, "blocks do not reach from document to document");
  command.add_option("--train-file", spec.train_file, "name of the training file in PATH");
  command.add_option("--test-file", spec.test_file, "name of the test file in PATH");
  command
      .add_option("--test-share", spec.test_share, "what is cut off for testing if it has no file")
      ->capture_default_str();
  command.add_option("--limit", spec.limit, "train on so many examples only");
  command.add_option("--text-column", spec.text_column, "of a table; several as in title,body");
  add_header_option(command, spec.header);
  command.add_option("--label-column", spec.label_column, "of a table; '' for blocks of its texts")
      ->capture_default_str();
  command.add_option("--seed", spec.seed, "of generated text, and of rows drawn for testing")
      ->capture_default_str();
}

}  // namespace

void add_data_blocks(CLI::App& data) {
  auto* command = data.add_subcommand("blocks", "Show examples of a text data set");
  command->footer(
      "Example: impart data blocks data/tinyshakespeare --tokenizer char --hardest "
      "runs/a/importance.csv --column loss-average --top 20");
  auto options = std::make_shared<BlocksOptions>();
  add_text_options(*command, options->spec, *options);
  command->add_option("--part", options->part, "train or test")
      ->check(CLI::IsMember({"train", "test"}))
      ->capture_default_str();
  auto* ids =
      command->add_option("--ids", options->ids, "these examples, as in 3,7")->delimiter(',');
  auto* hardest = command->add_option("--hardest", options->importance,
                                      "those with the highest scores in this .csv or .npy");
  hardest->excludes(ids);
  command->add_option("--column", options->column, "of the .csv")->capture_default_str();
  command->add_flag("--easiest", options->easiest, "the lowest scores instead")->needs(hardest);
  command->add_option("--top", options->top, "so many examples")->capture_default_str();
  command->add_option("--width", options->width, "columns of text; 0 for all of it")
      ->capture_default_str();
  command->add_flag("--json", options->json, "print it as JSON, with all of the text");
  command->add_option("--save-vocabulary", options->save_vocabulary,
                      "write the vocabulary to this file, for --vocabulary-file");
  command->callback([options] { run_blocks(*options); });
}

}  // namespace impart::cli
