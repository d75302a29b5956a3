#include "impart/train/run_data.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>
#include <xxhash.h>

#include "impart/data/images/datasets.h"
#include "impart/data/text/datasets.h"
#include "impart/feed/stored_feed.h"
#include "impart/feed/tensor_feed.h"
#include "impart/feed/token_feed.h"
#include "impart/store/partitioned_store.h"
#include "impart/store/replicated_store.h"

namespace impart::train {
namespace {

data::DataSpec data_spec(const config::RunConfig& config) {
  return {.name = config.data.name,
          .root = config.data.root,
          .limit = config.data.limit,
          .seed = config.data.seed,
          .train_examples = config.data.train_examples,
          .test_examples = config.data.test_examples,
          .coarse = config.data.coarse,
          .image_size = config.data.image_size,
          .image_column = config.data.image_column,
          .label_column = config.data.label_column};
}

data::TextSpec text_spec(const config::RunConfig& config) {
  return {.name = config.data.name,
          .root = config.data.root,
          .train_file = config.data.train_file,
          .test_file = config.data.test_file,
          .test_share = config.data.test_share,
          .tokenizer = config.data.tokenizer,
          .vocabulary = config.data.vocabulary,
          .vocabulary_file = config.data.vocabulary_file,
          .blocks = {.length = config.data.block,
                     .stride = config.data.stride,
                     .pack = config.data.pack},
          .limit = config.data.limit,
          .text_column = config.data.text_column,
          .label_column = config.data.label_column,
          .seed = config.data.seed,
          .train_examples = config.data.train_examples,
          .test_examples = config.data.test_examples};
}

/// The test set under `paper` evaluation goes through the training transform, drawn from a seed of
/// its own so that it is not that of the training examples.
feed::EpochAugmentation augmentation_of(const config::RunConfig& config, std::uint64_t seed,
                                        std::uint64_t examples) {
  const auto& entry = find_entry(data::kAugmentations, "augmentation", config.data.augment);
  return [augment = entry.function, seed, examples](std::uint32_t epoch) {
    return augment({.seed = seed, .epoch = epoch, .examples = examples});
  };
}

/// What tells one data set from another: the shape of its examples, how many there are, how long,
/// and of which class.
std::string fingerprint(const config::RunConfig& config, std::vector<std::uint64_t> shape,
                        const data::PayloadSource& payloads,
                        const std::vector<std::uint32_t>& labels) {
  std::vector<std::uint64_t> facts = std::move(shape);
  for (std::uint64_t id = 0; id < payloads.examples(); ++id) {
    facts.push_back(payloads.payload_bytes(ExampleId{id}));
    if (!labels.empty()) facts.push_back(labels[id]);
  }
  return fmt::format("{} {} {:016x}", config.data.name, payloads.examples(),
                     XXH3_64bits(facts.data(), facts.size() * sizeof facts[0]));
}

std::uint64_t count(const data::ImageSet& set) {
  return set.count;
}
std::uint64_t count(const data::ExampleSet& set) {
  return set.count();
}
std::uint64_t count(const data::TokenSet& set) {
  return set.count();
}
std::uint64_t count(const feed::TensorSet& set) {
  return static_cast<std::uint64_t>(set.targets.size(0));
}

/// Whether the data set of that name in a table is read from files; a program's own is not.
template <class Row, std::size_t N>
bool reads_files(const Row (&table)[N], const std::string& name) {
  return std::any_of(std::begin(table), std::end(table),
                     [&](const Row& row) { return row.name == name && row.reads_files; });
}

std::uint64_t bytes_of(const data::PayloadSource& payloads) {
  std::uint64_t bytes = 0;
  for (std::uint64_t id = 0; id < payloads.examples(); ++id) {
    bytes += payloads.payload_bytes(ExampleId{id});
  }
  return bytes;
}

RunData prepare_in_memory(data::ImageData images, const config::RunConfig& config,
                          torch::Device device) {
  const data::ImageSet& set = images.train;
  RunData data{.examples = set.count,
               .classes = set.classes,
               .channels = set.channels,
               .image_size = set.height,
               .labels = set.labels,
               .truth = set.truth,
               .payload_bytes = set.count * set.image_bytes()};
  if (reads_files(data::kDatasets, config.data.name)) data.loaded_bytes = data.payload_bytes;
  data.train = feed::make_device_feed(feed::put_on_device(set, device),
                                      augmentation_of(config, config.seed, set.count));
  data.test = feed::make_device_feed(feed::put_on_device(images.test, device),
                                     augmentation_of(config, ~config.seed, images.test.count));
  return data;
}

std::unique_ptr<store::Store> make_train_store(std::shared_ptr<const data::PayloadSource> payloads,
                                               const std::string& data_id,
                                               const config::RunConfig& config,
                                               comm::Communicator& communicator) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  if (config.store.kind == config::StoreConfig::Kind::kReplicated) {
    return store::make_replicated_store(
        {.workers = config.workers.count, .cache_bytes = config.store.cache * kMebibyte},
        communicator, std::move(payloads));
  }
  return store::make_partitioned_store(
      {.workers = config.workers.count, .path = config.store.path, .data_id = data_id},
      communicator, std::move(payloads));
}

std::unique_ptr<feed::Feed> make_feed(data::ExampleSet set, store::Store& store,
                                      const config::RunConfig& config, std::uint64_t seed,
                                      torch::Device device) {
  const std::uint64_t examples = set.count();
  const auto& augmentation = find_entry(data::kAugmentations, "augmentation", config.data.augment);
  const bool skip = config.data.on_error == config::DataConfig::OnError::kSkip;
  const auto shared = std::make_shared<const data::ExampleSet>(std::move(set));
  return feed::make_stored_feed(
      {.payloads = shared->payloads,
       .decoder = shared->decoder,
       .row_bytes = shared->image_bytes(),
       .format = feed::make_image_format(shared, augmentation_of(config, seed, examples), device),
       .store = &store,
       .device = device,
       .random_decode = augmentation.random_decode,
       .seed = seed,
       .threads = config.data.decode_threads,
       .batches_ahead = config.data.prefetch,
       .on_bad_example = skip ? data::OnBadExample::kSkip : data::OnBadExample::kFail});
}

RunData prepare_from_store(data::ExampleData sets, const config::RunConfig& config,
                           torch::Device device, comm::Communicator& communicator) {
  const data::ExampleSet& set = sets.train;
  RunData data{.examples = set.count(),
               .classes = set.classes,
               .channels = set.channels,
               .image_size = set.height,
               .labels = set.labels,
               .truth = set.truth,
               .payload_bytes = bytes_of(*set.payloads)};
  data.train_store = make_train_store(
      set.payloads,
      fingerprint(config, {set.channels, set.height, set.width}, *set.payloads, set.labels), config,
      communicator);
  data.test_store = store::make_replicated_store({.workers = config.workers.count}, communicator,
                                                 sets.test.payloads);
  data.train = make_feed(std::move(sets.train), *data.train_store, config, config.seed, device);
  data.test = make_feed(std::move(sets.test), *data.test_store, config, ~config.seed, device);
  return data;
}

RunData prepare_text(data::TextData loaded, const config::RunConfig& config, torch::Device device,
                     comm::Communicator& communicator) {
  const auto text = std::make_shared<const data::TextData>(std::move(loaded));
  const data::TokenSet& set = text->train;
  const auto payloads = data::make_token_source({text, &text->train});
  RunData data{.examples = set.count(),
               .classes = set.classes,
               .labels = set.labels,
               .truth = set.truth,
               .payload_bytes = bytes_of(*payloads),
               .text = text};
  if (set.is_corpus()) {
    data.test_bytes =
        std::accumulate(text->test.bytes.begin(), text->test.bytes.end(), std::uint64_t{0});
  }
  data.test = feed::make_token_feed(text->test, device);
  if (config.store.kind == config::StoreConfig::Kind::kReplicated) {
    if (reads_files(data::kTextDatasets, config.data.name)) data.loaded_bytes = data.payload_bytes;
    data.train = feed::make_token_feed(set, device);
    return data;
  }
  data.train_store = make_train_store(
      payloads, fingerprint(config, {set.vocabulary, set.length}, *payloads, set.labels), config,
      communicator);
  data.train = feed::make_stored_feed({.payloads = payloads,
                                       .decoder = feed::make_token_decoder(),
                                       .row_bytes = feed::token_row_bytes(set),
                                       .format = feed::make_token_format(set, device),
                                       .store = data.train_store.get(),
                                       .device = device,
                                       .threads = config.data.decode_threads,
                                       .batches_ahead = config.data.prefetch});
  return data;
}

RunData prepare_tensors(const feed::TensorData& tensors, torch::Device device) {
  const feed::TensorSet& set = tensors.train;
  const torch::Tensor targets = set.targets.contiguous();
  const auto* labels = targets.data_ptr<std::int64_t>();
  RunData data{.examples = count(set),
               .classes = tensors.classes,
               .labels = {labels, labels + targets.size(0)},
               .truth = tensors.truth,
               .payload_bytes = set.inputs.nbytes()};
  if (set.inputs.dim() == 4) {
    data.channels = static_cast<std::uint32_t>(set.inputs.size(1));
    data.image_size = static_cast<std::uint32_t>(set.inputs.size(2));
  }
  data.train = feed::make_tensor_feed(set, device);
  data.test = feed::make_tensor_feed(tensors.test, device);
  return data;
}

/// As models of images take them.
bool holds_images(const torch::Tensor& inputs) {
  return inputs.scalar_type() == torch::kFloat32 && inputs.dim() == 4 &&
         inputs.size(2) == inputs.size(3);
}

/// Whether a name is that of text; the tables of images and of text have no name in common.
bool is_text(const std::string& name) {
  return std::any_of(std::begin(data::kTextDatasets), std::end(data::kTextDatasets),
                     [&](const data::TextDatasetEntry& entry) { return entry.name == name; });
}

}  // namespace

feed::LoadedData load_run_data(const config::RunConfig& config) {
  if (is_text(config.data.name)) return data::load_text(text_spec(config));
  const data::DataSpec spec = data_spec(config);
  const bool streams = config.store.kind == config::StoreConfig::Kind::kPartitioned ||
                       config.store.files ||
                       find_entry(data::kDatasets, "data set", spec.name).function == nullptr;
  if (!streams) return data::load_data(spec);
  return data::open_data(spec);
}

config::DataFacts facts_of(const feed::LoadedData& data) {
  config::DataFacts facts{.input = data::Input::kImages};
  std::visit([&](const auto& sets) { facts.examples = count(sets.train); }, data);
  if (const auto* text = std::get_if<data::TextData>(&data)) {
    facts.input = data::Input::kTokens;
    facts.task = text->train.is_corpus() ? data::kLanguage : data::kClasses;
    facts.has_truth = !text->train.truth.empty();
  } else if (const auto* tensors = std::get_if<feed::TensorData>(&data)) {
    facts.is_tensors = true;
    facts.has_truth = !tensors->truth.empty();
    if (!holds_images(tensors->train.inputs)) facts.input = std::nullopt;
  } else if (const auto* images = std::get_if<data::ImageData>(&data)) {
    facts.has_truth = !images->train.truth.empty();
  } else {
    facts.has_truth = !std::get<data::ExampleData>(data).train.truth.empty();
  }
  return facts;
}

RunData prepare_run_data(feed::LoadedData loaded, const config::RunConfig& config,
                         torch::Device device, comm::Communicator& communicator) {
  if (auto* images = std::get_if<data::ImageData>(&loaded)) {
    return prepare_in_memory(std::move(*images), config, device);
  }
  if (auto* text = std::get_if<data::TextData>(&loaded)) {
    return prepare_text(std::move(*text), config, device, communicator);
  }
  if (const auto* tensors = std::get_if<feed::TensorData>(&loaded)) {
    return prepare_tensors(*tensors, device);
  }
  return prepare_from_store(std::move(std::get<data::ExampleData>(loaded)), config, device,
                            communicator);
}

}  // namespace impart::train
