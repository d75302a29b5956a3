#include "impart/train/device/device_steps.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "impart/tensors/device_memory.h"
#include "impart/tensors/torch_compat.h"

namespace impart::train {
namespace {

/// Steps of a layout that run before one is recorded: libraries try algorithms in the first, and
/// the short steps at the end of an epoch may never come again.
constexpr int kRunsBeforeRecord = 2;
/// Most kinds that are kept of each set of weights: a graph owns its memory.
constexpr std::size_t kMostKinds = 6;

/// The thread that backward passes run on knows the device only after its first kernel, and the
/// matrix library complains if it comes before.
void wake_backward_thread(torch::Device device) {
  const torch::Tensor one = torch::ones({1}, device).requires_grad_(true);
  (one * one).backward();
}

}  // namespace

DeviceSteps::DeviceSteps(const DeviceRowsSpec& spec, std::size_t models)
    : model_(*spec.model), models_(models) {
  leave_default_stream();
  wake_backward_thread(spec.feed->device());
  rows_ = make_device_rows(spec);
}

void DeviceSteps::begin_epoch(std::int64_t rows, const torch::Tensor& weights) {
  if (rows_->begin_epoch(rows, weights)) return;
  kinds_.clear();  // graphs know the old places
  runs_.clear();
}

DeviceSteps::Kind& DeviceSteps::find_kind(const Step& step) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return kind.update == step.update && kind.layout->starts == step.layout->starts &&
           std::ranges::equal(kind.slices, step.slices);
  });
  if (found != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, found);
    return kinds_.front();
  }
  if (kinds_.size() == kMostKinds * models_) kinds_.pop_back();
  kinds_.push_front({step.update,
                     std::make_shared<models::WorkerLayout>(*step.layout),
                     {step.slices.begin(), step.slices.end()}});
  // A graph cannot copy from the host, and what it reads must not be in memory that graphs share.
  kinds_.front().layout->starts_on(rows_->device());
  return kinds_.front();
}

void DeviceSteps::run(const Step& step) {
  step.update->begin({.first_row = step.first_row,
                      .examples = step.examples,
                      .learning_rate = step.learning_rate});
  Kind& kind = find_kind(step);
  if (!kind.graph && step.use_weights) step.use_weights();
  int& runs = runs_[kind.layout->starts];
  if (!kind.graph && runs < kRunsBeforeRecord) {
    ++runs;
    // Trying algorithms takes seconds: only for the kind that nearly all steps are.
    const tensors::BenchmarkMode mode(runs_.size() == 1);
    compute(kind);
    return;
  }
  if (!kind.graph) {
    if (step.memory == nullptr) tensors::free_kept_memory();  // a graph has memory of its own
    kind.graph = std::make_unique<StepGraph>();
    kind.graph->record([&] { compute(kind); }, step.memory);
  }
  kind.graph->replay();
}

void DeviceSteps::compute(const Kind& kind) {
  models::set_worker_layout(model_, kind.layout);
  kind.update->clear_gradients();
  if (kind.layout->starts.back() > 0) rows_->differentiate(*kind.layout, *kind.update);
  kind.update->sum_gradients();
  kind.update->apply();
  kind.update->clear_gradients();
}

}  // namespace impart::train
