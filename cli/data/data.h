#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/progress.h"
#include "impart/data/datasets.h"

namespace CLI {
class App;
}  // namespace CLI

namespace impart::cli {

/// Each adds a subcommand of `impart data`.
void add_data_pack(CLI::App& data);
void add_data_info(CLI::App& data);
void add_data_verify(CLI::App& data);
void add_data_cache(CLI::App& data);
void add_data_index(CLI::App& data);

/// A data set as a user names it.
struct DataPath {
  std::string path;       ///< a folder, or the name of a data set that needs none
  std::string name = {};  ///< of kDatasets; empty: found out from the files
  std::string text_column = {}, label_column = {}, header = "auto";  ///< of a table
};

/// Whether there is such a file or folder, on this machine or a server; one that cannot be looked
/// at is not there.
bool is_there(const std::filesystem::path& path);

/// One or both parts of a data set.
struct NamedSet {
  std::string name;    ///< "train", "test", or the folder of shards
  std::string folder;  ///< with index.json, if it is a set of MDS shards; else empty
  data::ExampleSet set;
  std::shared_ptr<const data::TokenSet> tokens = {};  ///< null if these are images
};

struct OpenedData {
  std::vector<NamedSet> sets;
  std::vector<std::string> notes = {};
};

/// What kind of data set a path is, by the files in it. ConfigError if none is recognised, or the
/// name is unknown.
std::string recognise_data(const DataPath& path);

/// Whether the path is one folder of MDS shards, rather than a data set of two.
bool is_shard_folder(const DataPath& path);

/// The folders of MDS shards of a data set; none if it is another kind.
std::vector<std::string> shard_folders(const DataPath& path);

/// Opens both parts, or the one folder of shards.
OpenedData open_sets(const DataPath& path);

/// What a table needs to be read.
void add_table_options(CLI::App& command, DataPath& path);
void add_header_option(CLI::App& command, std::string& header);

/// "64.0 MiB"
std::string format_bytes(double bytes);

}  // namespace impart::cli
