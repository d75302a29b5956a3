#pragma once

#include <cstddef>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/models/classifier.h"
#include "impart/placement/hosted_workers.h"
#include "impart/placement/placement.h"
#include "impart/run/image_file.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// The `count` hardest and easiest training examples by each notion that a run tracks, and by the
/// one that decides some of each class: of the hardest classes, if there are many. Pictures and
/// predictions are still missing.
std::vector<run::ImageRecord> choose_images(const placement::Placement& placement,
                                            const RunData& data, std::size_t count);

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
