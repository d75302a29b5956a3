// impart data: look at, pack and check data sets.

#include "cli/data.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data_blocks.h"
#include "cli/data_fetch.h"
#include "impart/core/error.h"
#include "impart/data/mds/dataset.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTestFolders[] = {"test", "val"};

/// A file that tells what a folder is.
struct Mark {
  const char* file;
  const char* name;
};
constexpr Mark kMarks[] = {
    {"index.json", "mds"},
    {"train/index.json", "mds"},
    {"data_batch_1.bin", "cifar10"},
    {"data_batch_1.bin.gz", "cifar10"},
    {"train.bin", "cifar100"},
    {"train.bin.gz", "cifar100"},
    {"train-images-idx3-ubyte", "idx"},
    {"train-images-idx3-ubyte.gz", "idx"},
    {"train", "imagefolder"},
};

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string recognise_data(const DataPath& path) {
  if (!path.name.empty()) {
    find_entry(data::kDatasets, "data set", path.name);
    return path.name;
  }
  for (const data::DatasetEntry& row : data::kDatasets) {
    const bool is_made = row.input == data::Input::kImages && !row.reads_files;
    if (is_made && row.name == path.path) return path.path;
  }
  if (!is_there(path.path)) throw DataError(fmt::format("{}: there is no such folder", path.path));
  for (const Mark& mark : kMarks) {
    if (is_there(fs::path(path.path) / mark.file)) return mark.name;
  }
  throw ConfigError(
      fmt::format("{}: cannot tell what kind of data set this is: no files of MDS, CIFAR or MNIST, "
                  "and no folder train/; give --name, one of 'impart list datasets'",
                  path.path));
}

bool is_shard_folder(const DataPath& path) {
  return recognise_data(path) == "mds" && is_there(fs::path(path.path) / "index.json");
}

std::vector<std::string> shard_folders(const DataPath& path) {
  if (recognise_data(path) != "mds") return {};
  if (is_shard_folder(path)) return {path.path};
  std::vector<std::string> folders = {path.path + "/train"};
  for (const char* test : kTestFolders) {
    if (!is_there(fs::path(path.path) / test / "index.json")) continue;
    folders.push_back(fmt::format("{}/{}", path.path, test));
    break;
  }
  return folders;
}

std::vector<NamedSet> open_sets(const DataPath& path) {
  const std::vector<std::string> folders = shard_folders(path);
  if (is_shard_folder(path)) {
    return {
        {.name = path.path, .folder = path.path, .set = data::open_mds_set({.folder = path.path})}};
  }
  data::ExampleData data = data::open_data({.name = recognise_data(path), .root = path.path});
  return {{.name = "train",
           .folder = folders.empty() ? "" : folders.front(),
           .set = std::move(data.train)},
          {.name = "test",
           .folder = folders.empty() ? "" : folders.back(),
           .set = std::move(data.test)}};
}

std::string format_bytes(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", bytes, unit);
}

void add_data_command(CLI::App& app) {
  auto* command = app.add_subcommand("data", "Look at, pack, check and fetch data sets");
  command->require_subcommand(1);
  add_data_info(*command);
  add_data_pack(*command);
  add_data_verify(*command);
  add_data_blocks(*command);
  add_data_fetch(*command);
}

}  // namespace impart::cli
