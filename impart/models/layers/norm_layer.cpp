#include "impart/models/layers/norm_layer.h"

#include <torch/torch.h>

#include "impart/models/layers/group_norm.h"
#include "impart/models/layers/worker_batch_norm.h"

namespace impart::models {

torch::Tensor apply_tail(torch::Tensor normalised, const NormTail& tail) {
  if (tail.residual.defined()) normalised.add_(tail.residual);
  if (tail.relu) normalised.relu_();
  return tail.pool ? torch::max_pool2d(normalised, 3, 2, 1) : normalised;
}

std::shared_ptr<NormLayer> make_norm(config::Norm norm, std::int64_t channels) {
  if (norm == config::Norm::kGroup) return std::make_shared<GroupNormImpl>(channels);
  return std::make_shared<WorkerBatchNorm2dImpl>(WorkerBatchNormSpec{.channels = channels});
}

}  // namespace impart::models
