// impart data pack: any data set as MDS shards.

#include "impart/data/mds/pack.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/terminal_text.h"
#include "impart/core/error.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = 130;

struct PackOptions {
  DataPath source;
  data::MdsPackSpec pack = {.destination = {}, .stop_requested = stop_requested};
};

/// Whether one path is the other, or lies in it.
bool lies_in(const fs::path& inner, const fs::path& outer) {
  std::error_code ignored;
  const fs::path relative =
      fs::weakly_canonical(inner, ignored).lexically_relative(fs::weakly_canonical(outer, ignored));
  return !relative.empty() && *relative.begin() != "..";
}

void check(const PackOptions& options) {
  if (is_shard_folder(options.source)) {
    throw ConfigError(fmt::format(
        "{}: is one folder of shards; what is packed is a data set, with train/ and test/ or val/",
        options.source.path));
  }
  const std::string& destination = options.pack.destination;
  if (lies_in(options.source.path, destination) || lies_in(destination, options.source.path)) {
    throw ConfigError(fmt::format("{} and {} lie in each other", options.source.path, destination));
  }
  std::error_code ignored;
  if (!options.pack.overwrite && fs::exists(fs::symlink_status(destination, ignored))) {
    throw ConfigError(fmt::format("{}: exists already; --overwrite replaces it", destination));
  }
}

std::uint64_t folder_bytes(const std::string& folder) {
  std::uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

void run_pack(const PackOptions& options) {
  const std::string kind = recognise_data(options.source);
  check(options);
  count_stop_signals();
  data::MdsPackSummary summary;
  std::vector<std::string> notes;
  try {
    ProgressLine line;
    line.phase("opening " + options.source.path);
    const data::ExampleData data = data::open_data({.name = kind, .root = options.source.path});
    notes = data.notes;
    summary = data::pack_mds(data, options.pack, line.phase("packing " + options.source.path));
  } catch (const data::MdsPackInterrupted&) {
    say("impart: stopped; nothing was packed\n");
    throw ExitCode{kInterrupted};
  }
  for (const std::string& note : notes) say("impart: {}\n", harmless(note));
  answer("{} examples, {}, images as {}; {} on disk\n", summary.examples,
         format_bytes(static_cast<double>(summary.payload_bytes)), summary.encoding,
         format_bytes(static_cast<double>(folder_bytes(options.pack.destination))));
  answer("use it with: impart train data.name=mds data.root={}\n", options.pack.destination);
}

}  // namespace

void add_data_pack(CLI::App& data) {
  auto* command = data.add_subcommand("pack", "Write a data set as MDS shards");
  command->footer(
      "Example: impart data pack data/cifar10 data/cifar10-mds --compression zstd:7\n"
      "JPEG and PNG files are stored as they are. DEST appears complete or not at all. MosaicML's "
      "streaming reads it, too.");
  auto options = std::make_shared<PackOptions>();
  command->add_option("SRC", options->source.path, "the folder of a data set; or 'shapes'")
      ->required();
  command->add_option("DEST", options->pack.destination, "the folder to make")->required();
  command->add_option("--name", options->source.name,
                      "what SRC is, one of 'impart list datasets'; found out if left out");
  command
      ->add_option("--shard-bytes", options->pack.shard_bytes,
                   "how large shards become, uncompressed: 64MiB, 100MB, …")
      ->transform(CLI::AsSizeValue(true))
      ->default_str("64MiB");
  command->add_option("--compression", options->pack.compression,
                      "zstd or zstd:LEVEL; none if left out. Random access to compressed shards is "
                      "slow");
  command
      ->add_option("--hashes", options->pack.hashes,
                   "fingerprints of the shards: xxh64, xxh3_64, sha256, sha1, md5")
      ->delimiter(',')
      ->default_str("xxh64");
  command->add_flag("--overwrite", options->pack.overwrite, "replace the data set in DEST");
  command->callback([options] { run_pack(*options); });
}

}  // namespace impart::cli
