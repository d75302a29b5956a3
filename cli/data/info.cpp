// impart data info: what is in a data set.

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/terminal_text.h"
#include "impart/data/mds/index.h"
#include "impart/data/mds/remote_source.h"
#include "impart/data/remote/object_url.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

using nlohmann::ordered_json;

struct PayloadSizes {
  std::uint64_t smallest = 0, largest = 0, total = 0;
  double mean = 0;
};

PayloadSizes measure_payloads(const data::ExampleSet& set) {
  PayloadSizes sizes{.smallest = std::numeric_limits<std::uint64_t>::max()};
  for (std::uint64_t i = 0; i < set.count(); ++i) {
    const std::uint64_t bytes = set.payloads->payload_bytes(ExampleId{i});
    sizes.smallest = std::min(sizes.smallest, bytes);
    sizes.largest = std::max(sizes.largest, bytes);
    sizes.total += bytes;
  }
  if (set.count() == 0) sizes.smallest = 0;
  sizes.mean =
      set.count() == 0 ? 0 : static_cast<double>(sizes.total) / static_cast<double>(set.count());
  return sizes;
}

std::vector<std::uint64_t> count_labels(const data::ExampleSet& set) {
  std::vector<std::uint64_t> counts(set.classes, 0);
  for (const std::uint32_t label : set.labels) ++counts[label];
  return counts;
}

struct ShardFacts {
  std::uint64_t count = 0, raw_bytes = 0, stored_bytes = 0;
  std::string compression;
  std::set<std::string> hashes;
  std::vector<data::MdsColumn> columns;
};

data::MdsIndex read_index(const std::string& folder) {
  if (!data::is_remote(folder)) return data::read_mds_index(folder);
  data::ObjectReader reader(folder, {});
  return data::fetch_mds_files(reader).index;
}

ShardFacts measure_shards(const std::string& folder) {
  const data::MdsIndex index = read_index(folder);
  ShardFacts facts{
      .count = index.shards.size(), .compression = {}, .hashes = {}, .columns = index.columns};
  for (const data::MdsShard& shard : index.shards) {
    facts.raw_bytes += shard.raw.bytes;
    facts.stored_bytes += shard.zip ? shard.zip->bytes : shard.raw.bytes;
    facts.compression = shard.compression;
    for (const auto& [name, value] : shard.raw.hashes) facts.hashes.insert(name);
  }
  return facts;
}

ordered_json to_json(const ShardFacts& facts) {
  ordered_json columns = ordered_json::object();
  for (const data::MdsColumn& column : facts.columns) columns[column.name] = column.encoding;
  return {
      {"count", facts.count},
      {"raw_bytes", facts.raw_bytes},
      {"stored_bytes", facts.stored_bytes},
      {"compression", facts.compression.empty() ? ordered_json() : ordered_json(facts.compression)},
      {"hashes", facts.hashes},
      {"columns", columns}};
}

ordered_json to_json(const data::TokenSet& tokens) {
  return {{"length", tokens.length},
          {"vocabulary", tokens.vocabulary},
          {"documents", tokens.counts.documents},
          {"tokens", tokens.counts.tokens},
          {"left_out", tokens.counts.left_out},
          {"truncated", tokens.counts.truncated}};
}

ordered_json to_json(const NamedSet& named) {
  const data::ExampleSet& set = named.set;
  const PayloadSizes sizes = measure_payloads(set);
  ordered_json json = {{"set", named.name}, {"examples", set.count()}};
  if (named.tokens) {
    json["text"] = to_json(*named.tokens);
  } else {
    json["image"] = {set.channels, set.height, set.width};
  }
  json.update(ordered_json{{"classes", set.classes},
                           {"class_counts", count_labels(set)},
                           {"class_names", set.class_names},
                           {"payload_bytes",
                            {{"min", sizes.smallest},
                             {"mean", sizes.mean},
                             {"max", sizes.largest},
                             {"total", sizes.total}}}});
  if (!named.folder.empty()) json["shards"] = to_json(measure_shards(named.folder));
  return json;
}

void print_shards(const ShardFacts& facts) {
  std::vector<std::string> columns;
  for (const data::MdsColumn& column : facts.columns) {
    columns.push_back(fmt::format("{} ({})", column.name, column.encoding));
  }
  answer("  shards    {}, {}", facts.count, format_bytes(static_cast<double>(facts.stored_bytes)));
  if (facts.compression.empty()) {
    answer(", not compressed\n");
  } else {
    answer(", compressed by {} from {}\n", facts.compression,
           format_bytes(static_cast<double>(facts.raw_bytes)));
  }
  answer("  hashes    {}\n",
         facts.hashes.empty() ? "none" : fmt::to_string(fmt::join(facts.hashes, ", ")));
  answer("  columns   {}\n", fmt::join(columns, ", "));
}

void print_classes(const data::ExampleSet& set) {
  constexpr std::size_t kShown = 20;
  const std::vector<std::uint64_t> counts = count_labels(set);
  answer("  classes   {}:", set.classes);
  for (std::size_t k = 0; k < std::min(counts.size(), kShown); ++k) {
    answer("{} {} {}", k == 0 ? "" : ",",
           set.class_names.empty() ? fmt::to_string(k) : set.class_names[k], counts[k]);
  }
  if (counts.size() > kShown) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    answer(", and {} more; from {} to {} examples", counts.size() - kShown, *least, *most);
  }
  answer("\n");
}

void print_tokens(const data::TokenSet& tokens) {
  const data::TextCounts& counts = tokens.counts;
  answer("  examples  {}, at most {} tokens each, of {} there are\n", tokens.count(), tokens.length,
         tokens.vocabulary);
  answer("  text      {} documents, {} tokens; {} left out\n", counts.documents, counts.tokens,
         counts.left_out);
}

void print_set(const NamedSet& named) {
  const data::ExampleSet& set = named.set;
  const PayloadSizes sizes = measure_payloads(set);
  answer("{}\n", named.name);
  if (named.tokens) {
    print_tokens(*named.tokens);
  } else {
    answer("  examples  {}, images of {}x{}x{}\n", set.count(), set.channels, set.height,
           set.width);
  }
  answer("  payloads  {} to {} bytes, mean {:.1f}; {} in all\n", sizes.smallest, sizes.largest,
         sizes.mean, format_bytes(static_cast<double>(sizes.total)));
  if (!named.folder.empty()) print_shards(measure_shards(named.folder));
  if (set.classes > 0) print_classes(set);
}

void run_info(const DataPath& path, bool json) {
  OpenedData data;
  {
    ProgressLine line;
    line.phase("opening " + path.path);
    data = open_sets(path);
  }
  if (!json) {
    answer("{}: {}\n", path.path, recognise_data(path));
    for (const NamedSet& set : data.sets) print_set(set);
    for (const std::string& note : data.notes) answer("note: {}\n", harmless(note));
    return;
  }
  ordered_json result = {{"name", recognise_data(path)}, {"path", path.path}};
  for (const NamedSet& set : data.sets) result["sets"].push_back(to_json(set));
  if (!data.notes.empty()) result["notes"] = data.notes;
  answer("{}\n", result.dump(2));
}

}  // namespace

void add_data_info(CLI::App& data) {
  auto* command = data.add_subcommand("info", "Show what is in a data set");
  command->footer("Example: impart data info data/cifar10-mds --json");
  auto path = std::make_shared<DataPath>();
  auto json = std::make_shared<bool>(false);
  command
      ->add_option("PATH", path->path,
                   "a data set: its folder or file, or 'shapes', 'generated'; or one folder of "
                   "shards")
      ->required();
  command->add_option("--name", path->name,
                      "what it is, one of 'impart list datasets'; found out if left out");
  add_table_options(*command, *path);
  command->add_flag("--json", *json, "print it as JSON");
  command->callback([path, json] { run_info(*path, *json); });
}

}  // namespace impart::cli
