// impart data index: makes a folder ready to be read from a server.

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/terminal/progress_line.h"
#include "impart/core/error.h"
#include "impart/data/remote/make_index.h"
#include "impart/data/remote/object_url.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

data::IndexSummary index_all(const DataPath& path, const std::string& kind) {
  ProgressLine line;
  if (kind == "imagefolder")
    return data::index_photos(path.path, line.phase("reading " + path.path));
  data::IndexSummary all;
  for (const std::string& folder : shard_folders(path)) {
    const data::IndexSummary one = data::index_shards(folder, line.phase("reading " + folder));
    all.examples += one.examples;
    all.bytes += one.bytes;
  }
  return all;
}

void run_index(const DataPath& path) {
  if (data::is_remote(path.path)) {
    throw ConfigError("an index is made of a folder on this machine, before it is uploaded");
  }
  const std::string kind = recognise_data(path);
  if (kind != "mds" && kind != "imagefolder") {
    throw ConfigError(
        fmt::format("{}: is {}, but only mds and imagefolder are read from a server; "
                    "'impart data pack' makes shards of it",
                    path.path, kind));
  }
  const data::IndexSummary all = index_all(path, kind);
  answer(
      "{} examples, {}; upload the folder as it is, and train with data.name={} "
      "data.root=https://… or s3://…\n",
      all.examples, format_bytes(static_cast<double>(all.bytes)), kind);
}

}  // namespace

void add_data_index(CLI::App& data) {
  auto* command = data.add_subcommand("index", "Make a folder ready to be read from a server");
  command->footer(
      "Example: impart data index data/cats\n"
      "Lists photographs in index.csv, or writes sums of samples beside MDS shards (sums.npy), and "
      "hashes of what describes the data (sums.json), so that bytes that a server damages are "
      "noticed. Run it again after every change.");
  auto path = std::make_shared<DataPath>();
  command->add_option("PATH", path->path, "a folder of class folders, or of MDS shards")
      ->required();
  command->add_option("--name", path->name,
                      "what it is: mds or imagefolder; found out if left out");
  command->callback([path] { run_index(*path); });
}

}  // namespace impart::cli
