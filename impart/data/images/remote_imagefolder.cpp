#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/images/folder_index.h"
#include "impart/data/images/photo_set.h"
#include "impart/data/remote/listed_files.h"
#include "impart/data/remote/remote_ranges.h"

namespace impart::data {
namespace {

using Photos = std::vector<IndexedPhoto>;

Photos photos_below(const Photos& all, std::string_view folder) {
  Photos part;
  for (const IndexedPhoto& photo : all) {
    if (photo.path.starts_with(folder)) part.push_back(photo);
  }
  return part;
}

std::vector<std::string> classes_of(const Photos& photos) {
  std::vector<std::string> classes;
  for (const IndexedPhoto& photo : photos) classes.push_back(photo.label);
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

/// As a folder on a disk is: by class, then by path.
void put_in_order(Photos& photos) {
  std::sort(photos.begin(), photos.end(), [](const IndexedPhoto& a, const IndexedPhoto& b) {
    return std::pair(std::string_view(a.label), std::string_view(a.path)) <
           std::pair(std::string_view(b.label), std::string_view(b.path));
  });
}

Photos spread_evenly(Photos photos, std::uint64_t limit) {
  if (limit == 0 || limit >= photos.size()) return photos;
  Photos kept;
  for (std::uint64_t i = 0; i < limit; ++i) kept.push_back(photos[i * photos.size() / limit]);
  return kept;
}

/// The low half of a hash: its last 8 digits.
std::uint32_t sum_of(const std::string& hash) {
  std::uint32_t sum = 0;
  std::from_chars(hash.data() + hash.size() - 8, hash.data() + hash.size(), sum, 16);
  return sum;
}

class RemoteFolder {
 public:
  explicit RemoteFolder(const DataSpec& spec)
      : spec_(spec),
        reader_(std::make_shared<ObjectReader>(spec.root, spec.remote)),
        place_(fmt::format("{}/{}", reader_->folder(), kFolderIndexName)) {
    const std::vector<std::byte> text = fetch_index();
    all_ = parse_folder_index({reinterpret_cast<const char*>(text.data()), text.size()}, place_);
  }

  ExampleData open() const {
    Photos train = photos_below(all_, "train/"), test = photos_below(all_, "val/");
    if (test.empty()) test = photos_below(all_, "test/");
    if (train.empty() || test.empty()) {
      throw DataError(fmt::format("{}: lists no file in {}", place_,
                                  train.empty() ? "train/" : "val/ or test/"));
    }
    const std::vector<std::string> classes = classes_of(train);
    put_in_order(train);
    put_in_order(test);
    return {.train = set_of_photos(spread_evenly(std::move(train), spec_.limit), classes),
            .test = set_of_photos(test, classes)};
  }

 private:
  std::vector<std::byte> fetch_index() const {
    ListedFiles files(*reader_);
    if (auto text = files.fetch_if_there(kFolderIndexName)) return std::move(*text);
    throw DataError(
        fmt::format("{}: there is no such file, or it is refused: a server cannot list a folder of "
                    "photographs; 'impart data index FOLDER' makes it",
                    place_));
  }

  ExampleSet set_of_photos(const Photos& photos, const std::vector<std::string>& classes) const {
    if (photos.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw DataError(fmt::format("{}: lists over 4 billion files", place_));
    }
    RemoteRangesSpec spec{.reader = reader_, .gap = 0};
    std::vector<std::uint32_t> labels;
    const bool has_hashes = std::ranges::none_of(photos, &std::string::empty, &IndexedPhoto::hash);
    for (const IndexedPhoto& photo : photos) {
      const auto name = std::lower_bound(classes.begin(), classes.end(), photo.label);
      if (name == classes.end() || *name != photo.label) {
        throw DataError(fmt::format("{}: {}: the training set has no class '{}'", place_,
                                    photo.path, shorten(photo.label)));
      }
      spec.ranges.push_back({.file = static_cast<std::uint32_t>(labels.size()),
                             .bytes = static_cast<std::uint32_t>(photo.bytes)});
      spec.objects.append(photo.path);
      if (has_hashes) spec.sums.push_back(sum_of(photo.hash));
      labels.push_back(static_cast<std::uint32_t>(name - classes.begin()));
    }
    return photo_set(make_remote_range_source(std::move(spec)), std::move(labels), classes,
                     spec_.image_size);
  }

  const DataSpec& spec_;
  std::shared_ptr<ObjectReader> reader_;
  std::string place_;
  Photos all_;
};

}  // namespace

ExampleData open_remote_imagefolder(const DataSpec& spec) {
  return RemoteFolder(spec).open();
}

}  // namespace impart::data
