#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <torch/types.h>

#include "impart/core/ids.h"
#include "impart/data/images/augment.h"
#include "impart/data/payloads/batch_reader.h"
#include "impart/data/task.h"
#include "impart/feed/batch.h"
#include "impart/store/ledger.h"

namespace impart::feed {

/// What goes through the model in one forward pass, on the model's device.
struct Batch {
  torch::Tensor inputs;   ///< [B, ...], as the model takes them
  torch::Tensor targets;  ///< int64: classes [B], or next tokens [B, T] (kNoTarget: none)
};

/// The rows that a feed is going to be asked for, batch after batch.
struct FeedPlan {
  std::uint32_t epoch = 0;
  bool augment = true;                  ///< change examples at random, as the epoch's choices say
  std::vector<ExampleId> ids = {};      ///< one per row
  std::vector<WorkerId> workers = {};   ///< who visits it
  std::vector<std::int64_t> ends = {};  ///< the row after the last of each batch, ascending
};

/// Blocks of text where batches are made from them.
struct DeviceBlocks {
  torch::Tensor tokens;           ///< int32, of all texts
  torch::Tensor starts, lengths;  ///< int64 [N], of the blocks
  std::int64_t inputs = 0;  ///< tokens that a model reads of a block: a whole one has one more
};

/// What a plan needs on the device: images or blocks. Either the whole data set is there, or images
/// come in turn: then what is said of examples is said of places, which are filled again and again.
struct DevicePlan {
  const DeviceImages* images = nullptr;
  const DeviceBlocks* blocks = nullptr;
  torch::Tensor ids = {};      ///< int64: of the rows
  torch::Tensor choices = {};  ///< int32: packed CropFlip of every example; undefined: none
  bool in_turn = false;        ///< rows of a batch are there from Feed::bring to the next call
};

/// Makes batches out of stored examples. What they are stored as, and where, is its secret.
class Feed {
 public:
  virtual ~Feed() = default;

  virtual torch::Device device() const = 0;
  virtual std::uint64_t examples() const = 0;

  /// What the targets are for.
  virtual const data::Task& task() const { return data::kClasses; }

  /// Gets ready to make these batches; what is left of an earlier plan is dropped.
  virtual void begin(FeedPlan plan) = 0;
  /// The next batch of the plan. Time spent waiting goes to `seconds`. DataError if an example
  /// cannot be read and may not be skipped.
  virtual Batch next(store::PhaseSeconds& seconds) = 0;

  /// All that the batches are made from, for those who make them on their own; nothing if that is
  /// not on the device. The rows are those of the last plan.
  virtual std::optional<DevicePlan> on_device() const { return std::nullopt; }
  /// Where batches come in turn: what is put on the current stream from here on finds the plan's
  /// next batch in its places, instead of next(). Time and errors as of next().
  virtual void bring(store::PhaseSeconds& /*seconds*/) {}

  /// The examples that were skipped since the last call; their rows hold other examples of the
  /// same worker.
  virtual std::vector<data::SkippedExample> take_skipped() { return {}; }
};

/// The choices that an augmentation makes for an epoch; an empty plan: examples stay as they are.
using EpochAugmentation = std::function<data::AugmentPlan(std::uint32_t epoch)>;

/// Batches of images that are all on the device already: no host work per example.
std::unique_ptr<Feed> make_device_feed(DeviceImages images, EpochAugmentation augmentation);

}  // namespace impart::feed
