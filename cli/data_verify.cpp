// impart data verify: is a data set what it should be?

#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "impart/core/error.h"
#include "impart/data/mds/index.h"
#include "impart/data/mds/verify.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr int kBadData = 65;

struct VerifyOptions {
  DataPath path;
  bool decode = false;
};

/// Reads, and decodes, every example of a data set that has no hashes.
void verify_examples(const NamedSet& named, bool decode, std::vector<std::string>& problems,
                     const Progress& progress) {
  const data::ExampleSet& set = named.set;
  std::vector<std::byte> payload;
  std::vector<std::uint8_t> pixels(set.image_bytes());
  for (std::uint64_t i = 0; i < set.count(); ++i) {
    const ExampleId id{i};
    try {
      payload.resize(set.payloads->payload_bytes(id));
      set.payloads->read(id, payload);
      if (decode) set.decoder->decode(payload, {}, pixels);
    } catch (const DataError& error) {
      const std::string place = set.payloads->describe(id);
      const std::string_view what = error.what();
      problems.push_back(what.starts_with(place) ? std::string(what)
                                                 : fmt::format("{}: {}", place, what));
    }
    progress(i + 1, set.count());
  }
}

void run_verify(const VerifyOptions& options) {
  std::vector<std::string> problems;
  const std::vector<std::string> folders = shard_folders(options.path);
  {
    ProgressLine line;
    for (const std::string& folder : folders) {
      data::verify_mds(
          {.folder = folder, .decode = options.decode},
          [&](const std::string& what) { problems.push_back(what); },
          line.phase("checking " + folder));
    }
    if (folders.empty()) {
      line.phase("opening " + options.path.path);
      for (const NamedSet& set : open_sets(options.path)) {
        verify_examples(set, options.decode, problems, line.phase("checking " + set.name));
      }
    }
  }
  for (const std::string& problem : problems) answer("{}\n", problem);
  if (problems.empty()) {
    answer("{}: all is well\n", options.path.path);
    return;
  }
  answer("{}: {} problem{}\n", options.path.path, problems.size(), problems.size() == 1 ? "" : "s");
  throw ExitCode{kBadData};
}

}  // namespace

void add_data_verify(CLI::App& data) {
  auto* command = data.add_subcommand("verify", "Check every byte of a data set");
  command->footer(
      "Example: impart data verify data/cifar10-mds --decode\n"
      "Shards: sizes, hashes, compression, offsets, labels. Lists every problem; exit code 65 if "
      "there is any.");
  auto options = std::make_shared<VerifyOptions>();
  command->add_option("PATH", options->path.path, "a data set, or one folder of shards")
      ->required();
  command->add_option("--name", options->path.name,
                      "what it is, one of 'impart list datasets'; found out if left out");
  command->add_flag("--decode", options->decode, "decode every image, too");
  command->callback([options] { run_verify(*options); });
}

}  // namespace impart::cli
