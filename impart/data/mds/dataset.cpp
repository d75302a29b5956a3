#include "impart/data/mds/dataset.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_crop.h"
#include "impart/data/images/photo_decoder.h"
#include "impart/data/mds/decoder.h"
#include "impart/data/mds/remote_source.h"
#include "impart/data/mds/sidecars.h"
#include "impart/data/mds/source.h"
#include "impart/data/remote/object_url.h"

namespace impart::data {
namespace {

constexpr std::uint32_t kPhotoSize = 224;

/// Errors about columns know no file.
template <class Function>
auto in_index(const MdsIndex& index, Function&& function) {
  try {
    return function();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", index.path(), error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", index.path(), error.what()));
  }
}

std::vector<std::uint32_t> scan_labels(const MdsSamples& source, const std::string& column_name,
                                       const Progress& progress) {
  const std::vector<MdsColumn>& columns = source.index().columns;
  const std::size_t column =
      in_index(source.index(), [&] { return find_mds_label(columns, column_name); });
  std::vector<std::uint32_t> labels;
  labels.reserve(source.examples());
  source.read_in_order(
      [&](ExampleId id, std::span<const std::byte> sample) {
        try {
          labels.push_back(
              read_mds_label(columns[column].encoding, mds_value(columns, column, sample)));
        } catch (const DataError& error) {
          throw DataError(fmt::format("{}: {}", source.describe(id), error.what()));
        }
      },
      progress);
  return labels;
}

std::shared_ptr<const MdsSampleDecoder> make_decoder(const MdsSamples& source,
                                                     const MdsSetSpec& spec) {
  std::vector<std::byte> sample;
  if (source.examples() > 0) {
    sample.resize(source.payload_bytes(ExampleId{0}));
    source.read(ExampleId{0}, sample);
  }
  return in_index(source.index(), [&] {
    return std::make_shared<const MdsSampleDecoder>(
        MdsDecoderSpec{.columns = source.index().columns,
                       .image = find_mds_image(source.index().columns, spec.image_column),
                       .photo_size = spec.image_size == 0 ? kPhotoSize : spec.image_size,
                       .example = sample});
  });
}

/// ImageNet's normalisation, grey where there is one channel.
void normalise_as_photos(ExampleSet& set) {
  constexpr float kGreyMean = 0.449f, kGreyStd = 0.226f;
  set.mean.assign(std::begin(kPhotoMean), std::end(kPhotoMean));
  set.std.assign(std::begin(kPhotoStd), std::end(kPhotoStd));
  if (set.channels == 1) {
    set.mean = {kGreyMean};
    set.std = {kGreyStd};
  }
}

std::uint32_t count_classes(const ExampleSet& set) {
  const auto largest = std::max_element(set.labels.begin(), set.labels.end());
  const std::uint32_t needed = largest == set.labels.end() ? 0 : *largest + 1;
  return std::max(needed, static_cast<std::uint32_t>(set.class_names.size()));
}

void check_names(const std::string& folder, const ExampleSet& set) {
  if (set.class_names.empty() || set.class_names.size() >= set.classes) return;
  throw DataError(fmt::format("{}/classes.json: {} names, but there is a label {}", folder,
                              set.class_names.size(), set.classes - 1));
}

/// The samples and what is known of them.
struct OpenedMds {
  std::shared_ptr<const MdsSamples> source;
  MdsSidecars sidecars;
};

OpenedMds open_in_folder(const MdsSetSpec& spec) {
  auto source = std::make_shared<const MdsSource>(
      MdsSourceSpec{.folder = spec.folder, .limit = spec.limit, .cache_bytes = spec.cache_bytes});
  const std::uint64_t samples = source->index().samples();
  return {std::move(source), read_mds_sidecars(spec.folder, samples)};
}

OpenedMds open_on_server(const MdsSetSpec& spec) {
  const auto reader = std::make_shared<ObjectReader>(spec.folder, spec.remote);
  RemoteMds files = fetch_mds_files(*reader);
  auto source = std::make_shared<const RemoteMdsSource>(
      RemoteMdsSpec{.reader = reader,
                    .index = std::move(files.index),
                    .sums = std::exchange(files.sidecars.sums, {}),
                    .limit = spec.limit,
                    .cache_bytes = spec.cache_bytes,
                    .gap = spec.remote.gap});
  return {std::move(source), std::move(files.sidecars)};
}

bool has_mds_index(const std::string& folder, const RemoteSpec& remote) {
  if (is_remote(folder)) {
    constexpr std::uint64_t kMostIndexBytes = std::uint64_t{4} << 30;
    return ObjectReader(folder, remote).read_if_there("index.json", kMostIndexBytes).has_value();
  }
  std::error_code ignored;
  return std::filesystem::exists(folder + "/index.json", ignored);
}

}  // namespace

ExampleSet open_mds_set(const MdsSetSpec& spec, const Progress& progress) {
  auto [source, sidecars] = is_remote(spec.folder) ? open_on_server(spec) : open_in_folder(spec);
  const auto decoder = make_decoder(*source, spec);
  ExampleSet set{.payloads = source,
                 .decoder = decoder,
                 .channels = decoder->layout().channels,
                 .height = decoder->layout().height,
                 .width = decoder->layout().width,
                 .labels = std::move(sidecars.labels),
                 .truth = std::move(sidecars.truth),
                 .mean = std::move(sidecars.mean),
                 .std = std::move(sidecars.std),
                 .resize = decoder->is_photo() ? usual_resize(decoder->layout().height) : 0,
                 .class_names = std::move(sidecars.class_names)};
  // Sidecars are about the column that is found by itself.
  if (set.labels.empty() || !spec.label_column.empty()) {
    set.labels = scan_labels(*source, spec.label_column, progress);
  }
  set.labels.resize(source->examples());
  if (!set.truth.empty()) set.truth.resize(source->examples());
  set.classes = count_classes(set);
  check_names(spec.folder, set);
  if (set.mean.empty()) normalise_as_photos(set);
  if (set.mean.size() != set.channels) {
    throw DataError(fmt::format("{}/channels.json: {} channels, but images have {}", spec.folder,
                                set.mean.size(), set.channels));
  }
  return set;
}

ExampleData pair_mds_sets(ExampleSet train, ExampleSet test) {
  if (train.channels != test.channels || train.height != test.height || train.width != test.width) {
    throw DataError(fmt::format("images of {}x{}x{} for training, but of {}x{}x{} for testing",
                                train.channels, train.height, train.width, test.channels,
                                test.height, test.width));
  }
  const std::uint32_t classes = std::max(train.classes, test.classes);
  if (!train.class_names.empty() && train.class_names.size() < classes) {
    throw DataError(fmt::format("the test set has a label {}, but there are {} names of classes",
                                classes - 1, train.class_names.size()));
  }
  train.classes = test.classes = classes;
  test.class_names = train.class_names;
  test.mean = train.mean;
  test.std = train.std;
  return {.train = std::move(train), .test = std::move(test)};
}

ExampleData open_mds(const DataSpec& spec) {
  const auto has_index = [&](const char* split) {
    return has_mds_index(fmt::format("{}/{}", spec.root, split), spec.remote);
  };
  const char* test = has_index("test") ? "test" : "val";
  for (const char* split : {"train", test}) {
    if (is_remote(spec.root) || has_index(split)) continue;  // opening tells what a server answers
    throw DataError(
        fmt::format("{}/{}/index.json: there is no such file: data.root must name a "
                    "folder with MDS shards in train/, and in test/ or val/ ('impart "
                    "data pack' makes one)",
                    spec.root, split));
  }
  const auto open = [&](const char* split, std::uint64_t limit) {
    return open_mds_set({.folder = fmt::format("{}/{}", spec.root, split),
                         .image_column = spec.image_column,
                         .label_column = spec.label_column,
                         .image_size = spec.image_size,
                         .limit = limit,
                         .remote = spec.remote});
  };
  auto train = open("train", spec.limit);  // its problems are told first
  return pair_mds_sets(std::move(train), open(test, 0));
}

}  // namespace impart::data
