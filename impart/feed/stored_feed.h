#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <torch/types.h>

#include "impart/data/payloads/example_set.h"
#include "impart/feed/feed.h"
#include "impart/store/store.h"

namespace impart::feed {

/// Turns decoded examples into what a model takes.
class BatchFormat {
 public:
  virtual ~BatchFormat() = default;

  /// What the targets are for.
  virtual const data::Task& task() const { return data::kClasses; }

  /// What the next batches are made of.
  virtual void begin(const FeedPlan& plan) = 0;
  /// The batch of the plan's rows from `first` on. `decoded` is uint8 [rows, bytes of a row], on
  /// the host, page-locked if the device is a GPU, and stays as it is until has_copied().
  virtual Batch make(const torch::Tensor& decoded, std::int64_t first) = 0;

  /// As Feed has them.
  virtual std::optional<DevicePlan> on_device() const { return std::nullopt; }
  virtual void bring(const torch::Tensor& /*decoded*/, std::int64_t /*first*/) {}

  /// Whether what was decoded for the last batch is not needed any more. Does not wait.
  virtual bool has_copied() const { return true; }
};

/// Images: changed at random as the augmentation says, scaled and normalised as `set` says. To a
/// GPU they travel as bytes, in turn (ImageTurns).
std::unique_ptr<BatchFormat> make_image_format(std::shared_ptr<const data::ExampleSet> set,
                                               EpochAugmentation augmentation,
                                               torch::Device device);

struct StoredFeedSpec {
  std::shared_ptr<const data::PayloadSource> payloads;
  std::shared_ptr<const data::PayloadDecoder> decoder;
  std::uint64_t row_bytes = 0;  ///< that the decoder fills
  std::unique_ptr<BatchFormat> format;
  store::Store* store = nullptr;  ///< of the payloads; must outlive the feed
  torch::Device device = torch::kCPU;
  bool random_decode = false;  ///< augmented examples are also decoded with random choices
  std::uint64_t seed = 0;      ///< of these
  std::uint32_t threads = 1, batches_ahead = 4;
  data::OnBadExample on_bad_example = data::OnBadExample::kFail;
};

/// Batches of examples that are read from a store and decoded on background threads. Examples that
/// are still on their way to this process are waited for, while the store moves on.
std::unique_ptr<Feed> make_stored_feed(StoredFeedSpec spec);

}  // namespace impart::feed
