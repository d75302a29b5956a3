// impart data: look at, pack and check data sets.

#include "cli/data/data.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data/blocks.h"
#include "cli/data/fetch.h"
#include "impart/core/error.h"
#include "impart/data/fetch/table.h"
#include "impart/data/images/folder_index.h"
#include "impart/data/mds/dataset.h"
#include "impart/data/remote/object_reader.h"
#include "impart/data/remote/object_url.h"
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
    {"val.bin", "tokens"},
    {"data_batch_1.bin", "cifar10"},
    {"data_batch_1.bin.gz", "cifar10"},
    {"train.bin", "cifar100"},
    {"train.bin.gz", "cifar100"},
    {"train-images-idx3-ubyte", "idx"},
    {"train-images-idx3-ubyte.gz", "idx"},
    {"train.tsv", "table"},
    {"train.csv", "table"},
    {"train.txt", "text"},
    {"train", "imagefolder"},
};

struct Suffix {
  const char* suffix;
  const char* name;
};
constexpr Suffix kSuffixes[] = {
    {".tsv", "table"}, {".csv", "table"}, {".txt", "text"}, {".bin", "tokens"}};

/// The kind of a file, by its name; "" if that tells nothing.
std::string kind_of_file(const std::string& path) {
  for (const Suffix& row : kSuffixes) {
    if (path.ends_with(row.suffix)) return row.name;
  }
  return "";
}

/// The kind of a folder, by what is in it; "" if that tells nothing.
std::string kind_of_folder(const fs::path& folder) {
  for (const Mark& mark : kMarks) {
    if (is_there(folder / mark.file)) return mark.name;
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".txt") return "text";
  }
  return "";
}

/// The kind of a folder on a server, which cannot be listed; "" if it has no index.
std::string kind_on_server(const fs::path& folder) {
  if (is_there(folder / "train/index.json") || is_there(folder / "index.json")) return "mds";
  return is_there(folder / data::kFolderIndexName) ? "imagefolder" : "";
}

/// What to do for data that is not there.
std::string advice_for(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  for (const data::Fetchable& row : data::kFetchables) {
    if (row.name == name)
      return fmt::format("; 'impart data fetch {} {}' downloads it", name, path);
  }
  for (const data::DatasetEntry& row : data::kDatasets) {
    if (row.name != path) continue;
    return fmt::format("; '{}' is a kind of data ({}): give its folder, and --name {}", path,
                       row.summary, path);
  }
  return "; 'impart data fetch --help' names what can be downloaded";
}

data::DatasetSpec spec_of(const DataPath& path) {
  const std::string name = recognise_data(path);
  return {.name = name,
          .in_memory = false,
          .images = {.name = name, .root = path.path},
          .text = {.name = name,
                   .root = path.path,
                   .text_column = path.text_column,
                   .header = path.header,
                   .label_column = path.label_column}};
}

}  // namespace

bool is_there(const fs::path& path) {
  if (data::is_remote(path.string())) {
    constexpr std::uint64_t kMostProbed = std::uint64_t{4} << 30;
    data::ObjectReader reader(path.parent_path().string(), {});
    return reader.read_if_there(path.filename().string(), kMostProbed).has_value();
  }
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string recognise_data(const DataPath& path) {
  if (!path.name.empty()) {
    find_entry(data::kDatasets, "data set", path.name);
    return path.name;
  }
  for (const data::DatasetEntry& row : data::kDatasets) {
    if (!row.reads_files && row.name == path.path) return path.path;
  }
  if (data::is_remote(path.path)) {
    const std::string kind = kind_on_server(data::parse_object_url(path.path).shown);
    if (!kind.empty()) return kind;
    throw DataError(fmt::format(
        "{}: has neither train/index.json of MDS shards nor {} of photographs ('impart data index' "
        "makes it), or they are refused",
        path.path, data::kFolderIndexName));
  }
  if (!is_there(path.path)) {
    throw DataError(fmt::format("{}: there is no such folder{}", path.path, advice_for(path.path)));
  }
  const std::string kind =
      fs::is_directory(path.path) ? kind_of_folder(path.path) : kind_of_file(path.path);
  if (!kind.empty()) return kind;
  throw ConfigError(
      fmt::format("{}: cannot tell what kind of data set this is: no files of MDS, CIFAR or MNIST, "
                  "no text or table, and no folder train/; give --name, one of 'impart list "
                  "datasets'",
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

OpenedData open_sets(const DataPath& path) {
  const std::vector<std::string> folders = shard_folders(path);
  if (is_shard_folder(path)) {
    return {.sets = {{.name = path.path,
                      .folder = path.path,
                      .set = data::open_mds_set({.folder = path.path})}}};
  }
  data::Dataset data = data::open_dataset(spec_of(path));
  OpenedData opened{.sets = {{.name = "train",
                              .folder = folders.empty() ? "" : folders.front(),
                              .set = std::move(data.train)},
                             {.name = "test",
                              .folder = folders.empty() ? "" : folders.back(),
                              .set = std::move(data.test)}},
                    .notes = std::move(data.notes)};
  if (!data.text) return opened;
  opened.sets[0].tokens = {data.text, &data.text->train};
  opened.sets[1].tokens = {data.text, &data.text->test};
  return opened;
}

void add_table_options(CLI::App& command, DataPath& path) {
  command.add_option("--text-column", path.text_column, "of a table; several as in title,body");
  command.add_option("--label-column", path.label_column, "of a table; none if left out");
  add_header_option(command, path.header);
}

void add_header_option(CLI::App& command, std::string& header) {
  command.add_option("--header", header, "whether the first line of a table names its columns")
      ->check(CLI::IsMember({"auto", "true", "false"}))
      ->capture_default_str();
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
  add_data_index(*command);
  add_data_blocks(*command);
  add_data_fetch(*command);
  add_data_cache(*command);
}

}  // namespace impart::cli
