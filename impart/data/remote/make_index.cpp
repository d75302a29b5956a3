#include "impart/data/remote/make_index.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/images/folder_index.h"
#include "impart/data/mds/dataset.h"
#include "impart/data/mds/hashes.h"
#include "impart/data/mds/sidecars.h"
#include "impart/data/mds/source.h"
#include "impart/data/remote/listed_files.h"
#include "impart/data/remote/remote_ranges.h"

namespace impart::data {
namespace {

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void write_file_sums(const std::string& folder, const std::vector<const char*>& names) {
  FileSums sums;
  for (const char* name : names) {
    const std::string path = folder + '/' + name;
    if (is_file(path)) sums[name] = xxh3_64_of(InputFile(path).bytes());
  }
  write_file(folder + '/' + kSumsName, file_sums_text(sums));
}

}  // namespace

IndexSummary index_photos(const std::string& root, const Progress& progress) {
  const ExampleData data = open_imagefolder({.name = "imagefolder", .root = root});
  const std::uint64_t total = data.train.count() + data.test.count();
  std::vector<IndexedPhoto> photos;
  IndexSummary summary;
  std::vector<std::byte> payload;
  for (const ExampleSet* set : {&data.train, &data.test}) {
    for (std::uint64_t i = 0; i < set->count(); ++i) {
      const ExampleId id{i};
      payload.resize(set->payloads->payload_bytes(id));
      set->payloads->read(id, payload);
      const std::string path = set->payloads->describe(id);
      const std::string below = std::filesystem::path(path).lexically_relative(root).string();
      if (below.find_first_of("\r\n") != std::string::npos) {
        throw DataError(fmt::format("{}: a name with a line break cannot be listed", path));
      }
      photos.push_back({.path = below,
                        .bytes = payload.size(),
                        .label = set->class_names[set->labels[i]],
                        .hash = xxh3_64_of(payload)});
      summary.bytes += payload.size();
      if (progress) progress(photos.size(), total);
    }
  }
  summary.examples = total;
  write_file(fmt::format("{}/{}", root, kFolderIndexName), folder_index_text(photos));
  write_file_sums(root, {kFolderIndexName});
  return summary;
}

IndexSummary index_shards(const std::string& folder, const Progress& progress) {
  const MdsSource source({.folder = folder});
  const std::vector<MdsColumn>& columns = source.index().columns;
  const std::string labels_path = folder + "/labels.npy";
  std::optional<std::size_t> label;
  try {
    if (!is_file(labels_path)) label = find_mds_label(columns, "");
  } catch (const Error&) {  // samples without a class have no labels
  }
  IndexSummary summary;
  std::vector<std::uint32_t> sums, labels;
  source.read_in_order(
      [&](ExampleId, std::span<const std::byte> sample) {
        sums.push_back(payload_sum(sample));
        if (label) {
          labels.push_back(
              read_mds_label(columns[*label].encoding, mds_value(columns, *label, sample)));
        }
        summary.bytes += sample.size();
      },
      progress);
  summary.examples = sums.size();
  write_integers(folder + "/sums.npy", "sum", sums);
  if (label) write_integers(labels_path, "label", labels);
  std::vector<const char*> names = {"index.json"};
  names.insert(names.end(), kMdsSidecarNames.begin(), kMdsSidecarNames.end());
  write_file_sums(folder, names);
  return summary;
}

}  // namespace impart::data
