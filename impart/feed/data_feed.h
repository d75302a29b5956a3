#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <torch/types.h>

#include "impart/data/payloads/batch_reader.h"
#include "impart/feed/feed.h"
#include "impart/feed/own_data.h"
#include "impart/store/store.h"

namespace impart::feed {

/// The parts of a data set.
enum class Part { kTrain, kTest };

/// How batches of a part are made.
struct DataFeedSpec {
  Part part = Part::kTrain;
  torch::Device device = torch::kCPU;
  /// Where payloads are read from; null: all examples are taken to the device from memory.
  store::Store* store = nullptr;
  std::string augmentation = "none";  ///< of images: a row of kAugmentations
  std::uint64_t seed = 0;             ///< of what it leaves to chance
  std::uint32_t threads = 1, batches_ahead = 4;
  data::OnBadExample on_bad_example = data::OnBadExample::kFail;
};

/// The feed of a part of a data set. What kind of data that is, nobody needs to know from here on.
std::unique_ptr<Feed> make_data_feed(const LoadedData& data, const DataFeedSpec& spec);

}  // namespace impart::feed
