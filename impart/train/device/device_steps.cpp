#include "impart/train/device/device_steps.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/cuda/images.h"
#include "impart/cuda/signals.h"
#include "impart/models/layers/layers.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/module_tree.h"
#include "impart/tensors/device_memory.h"
#include "impart/tensors/torch_compat.h"

namespace impart::train {
namespace {

/// Steps of so many rows that run before any is recorded: libraries try algorithms in the first.
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

DeviceSteps::DeviceSteps(const DeviceStepsSpec& spec)
    : spec_(spec), images_(*spec.feed->on_device()->images) {
  leave_default_stream();
  wake_backward_thread(images_.pixels.device());
  give_side_stream(&side_);
}

DeviceSteps::~DeviceSteps() {
  give_side_stream(nullptr);
}

void DeviceSteps::give_side_stream(tensors::SideStream* side) {
  models::visit_modules(*spec_.model, [&](const std::string&, torch::nn::Module& module) {
    if (auto* layer = module.as<models::ConvolutionImpl>()) layer->set_side_stream(side);
  });
}

void DeviceSteps::begin_epoch(std::int64_t rows, const torch::Tensor& weights) {
  const feed::DevicePlan plan = *spec_.feed->on_device();
  const bool fits = ids_.defined() && rows <= ids_.size(0) && !kinds_.empty() &&
                    plan.choices.defined() == choices_.defined();
  if (!fits) {
    kinds_.clear();  // graphs know the old places
    runs_.clear();
    // A selection's epochs differ in length: room for the longest that is likely.
    const auto examples = static_cast<std::int64_t>(spec_.feed->examples());
    const std::int64_t room = spec_.weighted ? std::max(rows, examples) : rows;
    ids_ = torch::zeros({room}, plan.ids.options());
    choices_ = plan.choices.defined() ? torch::zeros_like(plan.choices) : torch::Tensor();
    const std::int64_t signals = spec_.signals != nullptr ? spec_.signals->size() : 0;
    collected_ = torch::zeros({signals, room}, images_.mean.options());
    if (spec_.weighted) weights_ = torch::ones({room}, images_.mean.options());
  }
  if (weights_.defined()) {
    weights.defined() ? weights_.narrow(0, 0, rows).copy_(weights) : weights_.fill_(1);
  }
  ids_.narrow(0, 0, rows).copy_(plan.ids);
  if (choices_.defined()) choices_.copy_(plan.choices);
}

DeviceSteps::Kind& DeviceSteps::find_kind(const Step& step) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return kind.update == step.update && kind.layout->starts == step.layout->starts;
  });
  if (found != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, found);
    return kinds_.front();
  }
  if (kinds_.size() == kMostKinds * spec_.models) kinds_.pop_back();
  kinds_.push_front({step.update, std::make_shared<models::WorkerLayout>(*step.layout)});
  // A graph cannot copy from the host, and what it reads must not be in memory that graphs share.
  kinds_.front().layout->starts_on(images_.pixels.device());
  return kinds_.front();
}

void DeviceSteps::run(const Step& step) {
  step.update->begin({.first_row = step.first_row,
                      .examples = step.examples,
                      .learning_rate = step.learning_rate});
  Kind& kind = find_kind(step);
  if (!kind.graph && step.use_weights) step.use_weights();
  int& runs = runs_[kind.layout->starts.back()];
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
  models::set_worker_layout(*spec_.model, kind.layout);
  kind.update->clear_gradients();
  if (kind.layout->starts.back() > 0) {
    const auto output = spec_.model->forward(gather_batch(kind));
    const torch::Tensor gradient = measure(output, kind);
    output.logits.backward(gradient);
    side_.join();
  }
  kind.update->sum_gradients();
  kind.update->apply();
  kind.update->clear_gradients();
}

torch::Tensor DeviceSteps::gather_batch(const Kind& kind) {
  const std::int64_t rows = kind.layout->starts.back();
  const bool half = spec_.half;
  const auto& pixels = images_.pixels;
  torch::Tensor batch = torch::empty({rows, pixels.size(1), pixels.size(2), pixels.size(3)},
                                     images_.mean.options()
                                         .dtype(half ? torch::kBFloat16 : torch::kFloat)
                                         .memory_format(torch::MemoryFormat::ChannelsLast));
  cuda::gather_images({.pixels = pixels.data_ptr<std::uint8_t>(),
                       .channels = pixels.size(1),
                       .height = pixels.size(2),
                       .width = pixels.size(3),
                       .mean = images_.mean.data_ptr<float>(),
                       .deviation = images_.std.data_ptr<float>(),
                       .ids = ids_.data_ptr<std::int64_t>(),
                       .choices = choices_.defined() ? choices_.data_ptr<std::int32_t>() : nullptr,
                       .step = kind.update->state(),
                       .rows = rows,
                       .batch = batch.data_ptr(),
                       .element = half ? cuda::Element::kBfloat16 : cuda::Element::kFloat},
                      tensors::current_stream());
  return batch;
}

/// Collects the signals and returns the gradient of the step's loss by the logits.
torch::Tensor DeviceSteps::measure(const models::Classifier::Output& output, const Kind& kind) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor logits = output.logits.detach().contiguous();
  const torch::Tensor features = output.features.detach().contiguous();
  torch::Tensor gradient = torch::empty_like(logits);
  cuda::MeasureSignals call{.logits = logits.data_ptr<float>(),
                            .rows = logits.size(0),
                            .classes = logits.size(1),
                            .features = features.data_ptr<float>(),
                            .feature_count = features.size(1),
                            .labels = images_.labels.data_ptr<std::int64_t>(),
                            .ids = ids_.data_ptr<std::int64_t>(),
                            .step = kind.update->state(),
                            .weights = weights_.defined() ? weights_.data_ptr<float>() : nullptr,
                            .grad_logits = gradient.data_ptr<float>(),
                            .smoothing = static_cast<float>(spec_.label_smoothing)};
  if (collected_.numel() > 0) {
    call.signals = {.out = collected_.data_ptr<float>(), .stride = collected_.size(1)};
    for (std::int64_t row = 0; row < collected_.size(0); ++row) {
      call.signals.places.set(spec_.signals->rows()[static_cast<std::size_t>(row)], row);
    }
  }
  cuda::measure_signals(call, tensors::current_stream());
  return gradient;
}

torch::Tensor DeviceSteps::collected(std::int64_t rows) const {
  return collected_.narrow(1, 0, rows).to(torch::kCPU).contiguous();
}

}  // namespace impart::train
