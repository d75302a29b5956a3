#pragma once

#include <vector>

#include "impart/comm/communicator.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/placement/partition.h"

namespace impart::train {

/// The loss of every example under the current model, in evaluation mode and without augmentation;
/// each process computes those of its workers' parts, worker by worker, so that batches, and with
/// them the bits, do not depend on the number of processes.
/// Collective: every process calls it, in the same order.
std::vector<float> inference_losses(models::Classifier& model, feed::Feed& feed,
                                    const placement::Partition& partition,
                                    comm::Communicator& communicator);

}  // namespace impart::train
