#include "impart/train/run_data.h"

#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "impart/store/partitioned_store.h"
#include "impart/store/replicated_store.h"

namespace impart {
namespace {

DataSpec data_spec(const RunConfig& config) {
  return {.name = config.data.name,
          .root = config.data.root,
          .limit = config.data.limit,
          .seed = config.data.seed,
          .train_examples = config.data.train_examples,
          .test_examples = config.data.test_examples,
          .image_size = config.data.image_size,
          .image_column = config.data.image_column,
          .label_column = config.data.label_column};
}

void check_count(const RunConfig& config, std::uint64_t examples) {
  if (config.workers.count <= examples) return;
  throw ConfigError(
      fmt::format("workers.count: there are {} workers, but only {} training examples",
                  config.workers.count, examples));
}

/// The test set under `paper` evaluation goes through the training transform, drawn from a seed of
/// its own so that it is not that of the training examples.
EpochAugmentation augmentation_of(const RunConfig& config, std::uint64_t seed,
                                  std::uint64_t examples) {
  const auto& entry = find_entry(kAugmentations, "augmentation", config.data.augment);
  return [augment = entry.function, seed, examples](std::uint32_t epoch) {
    return augment({.seed = seed, .epoch = epoch, .examples = examples});
  };
}

/// What tells one data set from another: how many examples, how long, and of which class.
std::string fingerprint(const RunConfig& config, const ExampleSet& set) {
  std::vector<std::uint64_t> facts = {set.channels, set.height, set.width};
  for (std::uint64_t id = 0; id < set.count(); ++id) {
    facts.push_back(set.payloads->payload_bytes(ExampleId{id}));
    facts.push_back(set.labels[id]);
  }
  return fmt::format("{} {} {:016x}", config.data.name, set.count(),
                     XXH3_64bits(facts.data(), facts.size() * sizeof facts[0]));
}

RunData prepare_in_memory(ImageData images, const RunConfig& config, torch::Device device) {
  const bool reads_files = find_entry(kDatasets, "data set", config.data.name).reads_files;
  const ImageSet& set = images.train;
  RunData data{.examples = set.count,
               .classes = set.classes,
               .channels = set.channels,
               .image_size = set.height,
               .labels = set.labels,
               .truth = set.truth,
               .payload_bytes = set.count * set.image_bytes()};
  if (reads_files) data.loaded_bytes = data.payload_bytes;
  data.train =
      make_device_feed(put_on_device(set, device), augmentation_of(config, config.seed, set.count));
  data.test = make_device_feed(put_on_device(images.test, device),
                               augmentation_of(config, ~config.seed, images.test.count));
  return data;
}

std::unique_ptr<Store> make_train_store(const ExampleSet& set, const RunConfig& config,
                                        Communicator& communicator) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  if (config.store.kind == StoreConfig::Kind::kReplicated) {
    return make_replicated_store(
        {.workers = config.workers.count, .cache_bytes = config.store.cache * kMebibyte},
        communicator, set.payloads);
  }
  return make_partitioned_store({.workers = config.workers.count,
                                 .path = config.store.path,
                                 .data_id = fingerprint(config, set)},
                                communicator, set.payloads);
}

std::unique_ptr<Feed> make_feed(ExampleSet set, Store& store, const RunConfig& config,
                                std::uint64_t seed, torch::Device device) {
  const std::uint64_t examples = set.count();
  const auto& augmentation = find_entry(kAugmentations, "augmentation", config.data.augment);
  const bool skip = config.data.on_error == DataConfig::OnError::kSkip;
  return make_stored_feed({.set = std::make_shared<const ExampleSet>(std::move(set)),
                           .store = &store,
                           .device = device,
                           .augmentation = augmentation_of(config, seed, examples),
                           .random_decode = augmentation.random_decode,
                           .seed = seed,
                           .threads = config.data.decode_threads,
                           .batches_ahead = config.data.prefetch,
                           .on_bad_example = skip ? OnBadExample::kSkip : OnBadExample::kFail});
}

RunData prepare_from_store(ExampleData sets, const RunConfig& config, torch::Device device,
                           Communicator& communicator) {
  const ExampleSet& set = sets.train;
  RunData data{.examples = set.count(),
               .classes = set.classes,
               .channels = set.channels,
               .image_size = set.height,
               .labels = set.labels,
               .truth = set.truth};
  for (std::uint64_t id = 0; id < set.count(); ++id) {
    data.payload_bytes += set.payloads->payload_bytes(ExampleId{id});
  }
  data.train_store = make_train_store(set, config, communicator);
  data.test_store =
      make_replicated_store({.workers = config.workers.count}, communicator, sets.test.payloads);
  data.train = make_feed(std::move(sets.train), *data.train_store, config, config.seed, device);
  data.test = make_feed(std::move(sets.test), *data.test_store, config, ~config.seed, device);
  return data;
}

}  // namespace

LoadedData load_run_data(const RunConfig& config) {
  const DataSpec spec = data_spec(config);
  const bool streams = config.store.kind == StoreConfig::Kind::kPartitioned || config.store.files ||
                       find_entry(kDatasets, "data set", spec.name).function == nullptr;
  if (!streams) {
    ImageData images = load_data(spec);
    check_count(config, images.train.count);
    return images;
  }
  ExampleData sets = open_data(spec);
  check_count(config, sets.train.count());
  return sets;
}

RunData prepare_run_data(LoadedData loaded, const RunConfig& config, torch::Device device,
                         Communicator& communicator) {
  if (auto* images = std::get_if<ImageData>(&loaded)) {
    return prepare_in_memory(std::move(*images), config, device);
  }
  return prepare_from_store(std::move(std::get<ExampleData>(loaded)), config, device, communicator);
}

}  // namespace impart
