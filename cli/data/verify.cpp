// impart data verify: is a data set what it should be?

#include "impart/data/mds/verify.h"

#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/terminal_text.h"
#include "impart/core/error.h"
#include "impart/data/mds/index.h"
#include "impart/data/remote/object_url.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr int kBadData = 65;

struct VerifyOptions {
  DataPath path;
  bool decode = true;
};

/// What was found, and in how much.
struct Findings {
  std::vector<std::string> problems;
  std::vector<std::string> notes;
  std::uint64_t examples = 0;
};

/// Reads, and decodes, every example of a data set that has no hashes.
void verify_examples(const NamedSet& named, bool decode, Findings& findings,
                     const Progress& progress) {
  const data::ExampleSet& set = named.set;
  findings.examples += set.count();
  if (named.tokens) return;  // all of a text was read when it was opened
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
      findings.problems.push_back(what.starts_with(place) ? std::string(what)
                                                          : fmt::format("{}: {}", place, what));
    }
    progress(i + 1, set.count());
  }
}

void verify_shards(const std::string& folder, bool decode, Findings& findings,
                   const Progress& progress) {
  std::uint64_t examples = 0;
  data::verify_mds(
      {.folder = folder, .decode = decode},
      [&](const std::string& what) { findings.problems.push_back(what); },
      [&](std::uint64_t done, std::uint64_t total) {
        examples = total;
        progress(done, total);
      });
  findings.examples += examples;
}

Findings verify(const VerifyOptions& options) {
  Findings findings;
  ProgressLine line;
  // From a server samples are read as training reads them.
  const bool remote = data::is_remote(options.path.path);
  const std::vector<std::string> folders =
      remote ? std::vector<std::string>{} : shard_folders(options.path);
  for (const std::string& folder : folders) {
    verify_shards(folder, options.decode, findings, line.phase("checking " + folder));
  }
  if (!folders.empty()) return findings;
  line.phase("opening " + options.path.path);
  const OpenedData data = open_sets(options.path);
  findings.notes = data.notes;
  for (const NamedSet& set : data.sets) {
    verify_examples(set, options.decode, findings, line.phase("checking " + set.name));
  }
  return findings;
}

/// "240 examples read and decoded, and of their shards sizes, hashes, offsets and labels"
std::string what_was_checked(const VerifyOptions& options, const Findings& findings) {
  const std::string kind = recognise_data(options.path);
  const bool is_text = find_entry(data::kDatasets, "data set", kind).input == data::Input::kTokens;
  const char* how = is_text ? "read" : options.decode ? "read and decoded" : "read, not decoded";
  return fmt::format("{} examples {}{}", findings.examples, how,
                     kind == "mds" && !data::is_remote(options.path.path)
                         ? ", and of their shards sizes, hashes, offsets and labels"
                         : "");
}

void run_verify(const VerifyOptions& options) {
  const Findings findings = verify(options);
  for (const std::string& note : findings.notes) say("impart: {}\n", harmless(note));
  for (const std::string& problem : findings.problems) answer("{}\n", problem);
  const std::size_t count = findings.problems.size();
  const std::string verdict =
      count == 0 ? "all is well" : fmt::format("{} problem{}", count, count == 1 ? "" : "s");
  answer("{}: {}; checked: {}\n", options.path.path, verdict, what_was_checked(options, findings));
  if (count > 0) throw ExitCode{kBadData};
}

}  // namespace

void add_data_verify(CLI::App& data) {
  auto* command = data.add_subcommand("verify", "Check every byte of a data set");
  command->footer(
      "Example: impart data verify data/cifar10-mds\n"
      "Reads and decodes every example. Shards: sizes, hashes, compression, offsets, labels. Lists "
      "every problem; exit code 65 if "
      "there is any.");
  auto options = std::make_shared<VerifyOptions>();
  command->add_option("PATH", options->path.path, "a data set, or one folder of shards")
      ->required();
  command->add_option("--name", options->path.name,
                      "what it is, one of 'impart list datasets'; found out if left out");
  command->add_flag("--decode,!--no-decode", options->decode,
                    "decode every image, too; so it is unless told not to");
  add_table_options(*command, options->path);
  command->callback([options] { run_verify(*options); });
}

}  // namespace impart::cli
