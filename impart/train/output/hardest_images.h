#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/models/classifier.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/placement.h"
#include "impart/run/image_file.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// What images are chosen from.
struct ImageChoiceSpec {
  const placement::Placement& placement;
  const RunData& data;
  std::size_t count = 0;  ///< of each kind
  /// By example, how often a selection hid it; empty if there is none.
  std::span<const std::uint32_t> times_hidden = {};
};

/// The `count` hardest and easiest training examples by each notion that a run tracks, and by the
/// one that decides some of each class: of the hardest classes, if there are many. If any was
/// hidden, those that were most and least often, too: among equals the easiest and the hardest come
/// first. Pictures and predictions are still missing.
std::vector<run::ImageRecord> choose_images(const ImageChoiceSpec& spec);

/// Who looks at images.
struct ViewerSpec {
  models::Classifier& model;
  const RunData& data;
  placement::HostedWorkers hosted = {};  ///< of this process
};

/// Adds pictures of at most 64 pixels a side, and what the model as it is takes them for. Whoever
/// hosts an example's worker reads it. Returns those that could be read, on every process.
/// Collective: every process calls it, in the same order.
std::vector<run::ImageRecord> add_pictures(std::vector<run::ImageRecord> images,
                                           const ViewerSpec& viewer,
                                           comm::Communicator& communicator);

}  // namespace impart::train
