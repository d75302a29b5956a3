#include "impart/train/run_data.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/data/datasets.h"
#include "impart/data/hold_out.h"
#include "impart/data/payloads/read_ahead.h"
#include "impart/feed/data_feed.h"
#include "impart/store/memory_store.h"
#include "impart/store/replicated_store.h"
#include "impart/store/stores.h"
#include "impart/tensors/id_tensor.h"

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
          .label_column = config.data.label_column,
          .remote = {.connections = config.remote.connections,
                     .retries = config.remote.retries,
                     .timeout = std::chrono::seconds(config.remote.timeout),
                     .least_rate = std::uint64_t{config.remote.least_rate} << 10,
                     .gap = std::uint64_t{config.remote.gap} << 10}};
}

/// Payloads that come from a server are read ahead. Before the store, so that whatever it keeps is
/// not asked for again.
feed::LoadedData read_ahead(feed::LoadedData loaded, const config::RunConfig& config) {
  const data::ReadAheadSpec spec{.bytes = std::uint64_t{config.store.prefetch} << 20};
  for (data::ExampleSet* set : {&loaded.dataset.train, &loaded.dataset.test}) {
    if (spec.bytes == 0 || !set->payloads || !set->payloads->is_remote()) continue;
    set->payloads = data::with_read_ahead(set->payloads, spec);
  }
  return loaded;
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
          .header = config.data.header,
          .label_column = config.data.label_column,
          .seed = config.data.seed,
          .train_examples = config.data.train_examples,
          .test_examples = config.data.test_examples};
}

const store::StoreEntry& kind_of_store(const config::RunConfig& config) {
  return find_entry(store::kStores, "store", config.store.kind);
}

/// Whether every process may hold all examples in memory.
bool may_hold_all(const config::RunConfig& config) {
  return kind_of_store(config).holds_all && !config.store.files;
}

RunData facts_of(const feed::LoadedData& loaded) {
  const data::Dataset& set = loaded.dataset;
  return {.examples = set.train.count(),
          .classes = set.train.classes,
          .labels = set.train.labels,
          .truth = set.train.truth,
          .payload_bytes = loaded.payload_bytes(),
          .text = set.text,
          .task = set.task,
          .test_bytes = data::test_text_bytes(set)};
}

store::CacheSpec cache_spec(const config::RunConfig& config) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return {.memory_bytes = config.store.cache * kMebibyte,
          .disk_path = config.store.cache_path,
          .disk_bytes = config.store.cache_disk * kMebibyte,
          .policy = &find_entry(store::kCachePolicies, "cache policy", config.store.cache_policy),
          .cooperative = config.store.cooperative,
          .move_from = config.store.move_from,
          .steps_ahead = config.data.prefetch + 1};
}

std::unique_ptr<store::Store> make_train_store(const data::Dataset& data,
                                               const config::RunConfig& config,
                                               comm::Communicator& communicator) {
  return kind_of_store(config).function({.workers = config.workers.count,
                                         .cache = cache_spec(config),
                                         .path = config.store.path,
                                         .data_id = data::fingerprint(data, config.data.name),
                                         .moves_behind = config.exchange.arrivals_last},
                                        communicator, data.train.payloads);
}

/// The test set under `paper` evaluation goes through the training transform, drawn from a seed of
/// its own so that it is not that of the training examples.
feed::DataFeedSpec feed_spec(feed::Part part, const config::RunConfig& config, torch::Device device,
                             store::Store* store) {
  const bool skip = config.data.on_error == config::DataConfig::OnError::kSkip;
  const std::uint64_t seed = seed_of(config, &config::RunConfig::seed_augment);
  return {.part = part,
          .device = device,
          .store = store,
          .augmentation = config.data.augment,
          .seed = part == feed::Part::kTrain ? seed : ~seed,
          .threads = config.data.decode_threads,
          .batches_ahead = config.data.prefetch,
          .on_bad_example = skip ? data::OnBadExample::kSkip : data::OnBadExample::kFail};
}

feed::TensorSet take_rows(const feed::TensorSet& set, const std::vector<ExampleId>& ids) {
  const torch::Tensor rows = tensors::ids_tensor(ids);
  return {.inputs = set.inputs.index_select(0, rows), .targets = set.targets.index_select(0, rows)};
}

std::shared_ptr<const feed::TensorData> hold_out_rows(const feed::TensorData& data,
                                                      const data::HeldOut& parts) {
  feed::TensorData divided{.train = take_rows(data.train, parts.train),
                           .test = take_rows(data.train, parts.validation),
                           .classes = data.classes};
  for (const ExampleId id : parts.train) {
    if (!data.truth.empty()) divided.truth.push_back(data.truth[index(id)]);
  }
  return std::make_shared<const feed::TensorData>(std::move(divided));
}

/// As models of images take them.
bool holds_images(const torch::Tensor& inputs) {
  return inputs.scalar_type() == torch::kFloat32 && inputs.dim() == 4 &&
         inputs.size(2) == inputs.size(3);
}

}  // namespace

feed::LoadedData load_run_data(const config::RunConfig& config) {
  return hold_out_validation({data::open_dataset({.name = config.data.name,
                                                  .in_memory = may_hold_all(config),
                                                  .images = data_spec(config),
                                                  .text = text_spec(config)})},
                             config);
}

feed::LoadedData hold_out_validation(feed::LoadedData loaded, const config::RunConfig& config) {
  if (config.data.validation == 0) return loaded;
  const data::ExampleSet& train = loaded.dataset.train;
  const data::HeldOut parts = data::choose_held_out({.share = config.data.validation,
                                                     .examples = train.count(),
                                                     .labels = train.labels,
                                                     .class_names = train.class_names});
  const std::string note = fmt::format(
      "{} of {} training examples are held out and evaluated on (data.validation); the test set is "
      "not used",
      parts.validation.size(), train.count());
  if (loaded.tensors) loaded.tensors = hold_out_rows(*loaded.tensors, parts);
  loaded.dataset = data::hold_out(loaded.dataset, parts, config.data.name);
  loaded.dataset.notes.push_back(note);
  return loaded;
}

config::DataFacts data_facts(const feed::LoadedData& data) {
  const data::Dataset& set = data.dataset;
  config::DataFacts facts{.examples = set.train.count(),
                          .input = set.input,
                          .task = set.task,
                          .is_tensors = data.tensors != nullptr,
                          .has_truth = !set.train.truth.empty()};
  if (data.tensors) {
    facts.input = holds_images(data.tensors->train.inputs) ? std::optional(data::Input::kImages)
                                                           : std::nullopt;
  }
  return facts;
}

std::string class_name(const RunData& data, std::uint32_t number) {
  const std::vector<std::string>& names = data.card.class_names;
  return number < names.size() ? names[number] : fmt::to_string(number);
}

RunData prepare_run_data(feed::LoadedData loaded, const config::RunConfig& config,
                         torch::Device device, comm::Communicator& communicator) {
  loaded = read_ahead(std::move(loaded), config);
  const data::Dataset& set = loaded.dataset;
  const std::uint32_t workers = config.workers.count;
  const bool train_here = loaded.in_memory() && may_hold_all(config);
  const bool test_here = train_here || set.text;
  RunData data = facts_of(loaded);
  data.validation_examples = config.data.validation > 0 ? set.test.count() : 0;
  data.card = trained::describe_model(config, set);
  if (!train_here) data.visited_payloads = set.train.payloads;
  data.train_store =
      train_here
          ? store::make_memory_store(
                {.workers = workers, .examples = data.examples, .loaded_bytes = set.loaded_bytes},
                communicator)
          : make_train_store(set, config, communicator);
  data.test_store =
      test_here
          ? store::make_memory_store({.workers = workers, .examples = set.test.count()},
                                     communicator)
          : store::make_replicated_store({.workers = workers}, communicator, set.test.payloads);
  data.train = feed::make_data_feed(
      loaded,
      feed_spec(feed::Part::kTrain, config, device, train_here ? nullptr : data.train_store.get()));
  data.test = feed::make_data_feed(loaded, feed_spec(feed::Part::kTest, config, device,
                                                     test_here ? nullptr : data.test_store.get()));
  return data;
}

}  // namespace impart::train
