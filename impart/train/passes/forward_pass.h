#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"
#include "impart/placement/partition.h"

namespace impart::train {

/// Examples of all workers, worker after worker, and what was measured of them.
struct MeasuredExamples {
  std::vector<ExampleId> ids;
  std::vector<float> values;  ///< [numbers, ids]
};

/// A pass over lists of examples that does not train.
struct ForwardPassSpec {
  models::Classifier* model = nullptr;
  feed::Feed* feed = nullptr;
  std::int64_t numbers = 1;  ///< of every example
  /// Of a batch, [numbers, rows].
  std::function<torch::Tensor(const models::Classifier::Output& output, const feed::Batch& batch)>
      measure = {};
};

/// Measures examples under the current model, in evaluation mode and without augmentation; each
/// process those of its workers, worker by worker, so that batches, and with them the bits, do not
/// depend on the number of processes.
/// Collective: every process calls it, in the same order.
MeasuredExamples measure_examples(const ForwardPassSpec& spec, const placement::Parts& lists,
                                  comm::Communicator& communicator);

}  // namespace impart::train
