#include "impart/feed/data_feed.h"

#include <utility>

#include <torch/torch.h>

#include "impart/feed/batch.h"
#include "impart/feed/device_copies.h"
#include "impart/feed/stored_feed.h"
#include "impart/feed/tensor_feed.h"
#include "impart/feed/token_feed.h"

namespace impart::feed {
namespace {

const data::AugmentationEntry& augmentation_of(const DataFeedSpec& spec) {
  return find_entry(data::kAugmentations, "augmentation", spec.augmentation);
}

EpochAugmentation epoch_augmentation(const DataFeedSpec& spec, std::uint64_t examples) {
  return
      [augment = augmentation_of(spec).function, seed = spec.seed, examples](std::uint32_t epoch) {
        return augment({.seed = seed, .epoch = epoch, .examples = examples});
      };
}

std::unique_ptr<Feed> feed_from_store(const data::ExampleSet& set, std::uint64_t row_bytes,
                                      std::unique_ptr<BatchFormat> format, bool random_decode,
                                      const DataFeedSpec& spec) {
  return make_stored_feed({.payloads = set.payloads,
                           .decoder = set.decoder,
                           .row_bytes = row_bytes,
                           .format = std::move(format),
                           .store = spec.store,
                           .device = spec.device,
                           .random_decode = random_decode,
                           .seed = spec.seed,
                           .threads = spec.threads,
                           .batches_ahead = spec.batches_ahead,
                           .on_bad_example = spec.on_bad_example});
}

DeviceImages images_on_device(const LoadedData& data, const DataFeedSpec& spec) {
  const data::ImageData& both = *data.dataset.images;
  const data::ImageSet& images = spec.part == Part::kTrain ? both.train : both.test;
  return data.copies ? data.copies->get(spec.part, images, spec.device)
                     : put_on_device(images, spec.device);
}

std::unique_ptr<Feed> feed_images(const LoadedData& data, const DataFeedSpec& spec) {
  const bool train = spec.part == Part::kTrain;
  const data::ExampleSet& set = train ? data.dataset.train : data.dataset.test;
  EpochAugmentation augmentation = epoch_augmentation(spec, set.count());
  if (spec.store == nullptr) {
    return make_device_feed(images_on_device(data, spec), std::move(augmentation));
  }
  const auto shared = std::make_shared<const data::ExampleSet>(set);
  return feed_from_store(set, set.image_bytes(),
                         make_image_format(shared, std::move(augmentation), spec.device),
                         augmentation_of(spec).random_decode, spec);
}

std::unique_ptr<Feed> feed_tokens(const data::Dataset& data, const DataFeedSpec& spec) {
  const bool train = spec.part == Part::kTrain;
  const data::TokenSet& tokens = train ? data.text->train : data.text->test;
  if (spec.store == nullptr) return make_token_feed(tokens, spec.device);
  return feed_from_store(train ? data.train : data.test, token_row_bytes(tokens),
                         make_token_format(tokens, spec.device), /*random_decode=*/false, spec);
}

}  // namespace

std::unique_ptr<Feed> make_data_feed(const LoadedData& data, const DataFeedSpec& spec) {
  if (data.tensors) {
    return make_tensor_feed(spec.part == Part::kTrain ? data.tensors->train : data.tensors->test,
                            spec.device);
  }
  return data.dataset.text ? feed_tokens(data.dataset, spec) : feed_images(data, spec);
}

}  // namespace impart::feed
