#include "impart/train/device/device_evaluation.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/cuda/signals.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/tensors/torch_compat.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/device/image_batch.h"

namespace impart::train {
namespace {

/// Most examples in one pass.
constexpr std::int64_t kMostTestRows = 10240;
constexpr int kLossRow = 0, kCorrectRow = 1;

cuda::StepState* state_at(const torch::Tensor& cell) {
  return reinterpret_cast<cuda::StepState*>(cell.data_ptr<std::uint8_t>());
}

/// Puts the model into evaluation while it lives.
class EvaluationMode {
 public:
  EvaluationMode(models::Classifier& model, bool batch_statistics) : model_(model) {
    model.eval();
    models::visit_batch_norms(model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
      layouts_.push_back(layer.layout());
      layer.set_batch_statistics(batch_statistics);
      layer.set_frozen(true);
    });
  }
  ~EvaluationMode() {
    std::size_t i = 0;
    models::visit_batch_norms(model_,
                              [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
                                layer.set_layout(layouts_[i++]);
                                layer.set_batch_statistics(false);
                                layer.set_frozen(false);
                              });
    model_.train();
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  models::Classifier& model_;
  std::vector<std::shared_ptr<const models::WorkerLayout>> layouts_;
};

}  // namespace

bool DeviceEvaluation::can_run(const feed::Feed& feed, const comm::Communicator& communicator) {
  const auto placed = feed.on_device();
  return feed.device().is_cuda() && cuda::has_kernels() && communicator.size() == 1 && placed &&
         placed->images != nullptr && !placed->in_turn;
}

DeviceEvaluation::DeviceEvaluation(models::Classifier& model, feed::Feed& feed, bool half)
    : model_(model), feed_(feed), half_(half), images_(*feed.on_device()->images) {
  leave_default_stream();
  step_state_ =
      torch::zeros({sizeof(cuda::StepState)}, images_.pixels.options().dtype(torch::kByte));
}

/// Whole batches, as many as fit into a pass.
void DeviceEvaluation::plan_passes(const EvaluationSpec& spec) {
  passes_.clear();
  runs_ = 0;
  planned_for_ = spec;
  const std::int64_t examples = images_.labels.size(0), batch = spec.batch;
  const std::int64_t stride = std::max<std::int64_t>(1, kMostTestRows / batch) * batch;
  for (std::int64_t first = 0; first < examples; first += stride) {
    Pass pass{
        .first_row = first,
        .rows = std::min(stride, examples - first),
        .layout = std::make_shared<models::WorkerLayout>(models::WorkerLayout{.starts = {0}})};
    for (std::int64_t start = 0; start < pass.rows; start += batch) {
      pass.layout->starts.push_back(std::min(start + batch, pass.rows));
    }
    passes_.push_back(std::move(pass));
  }
  results_ = torch::zeros({2, examples}, images_.mean.options());
}

/// Brings the choices of the epoch to the place where graphs look for them.
void DeviceEvaluation::begin(const EvaluationSpec& spec) {
  const bool augment = spec.protocol == config::EvalConfig::Protocol::kPaper;
  feed::FeedPlan plan{.epoch = spec.epoch, .augment = augment};
  for (std::int64_t id = 0; id < images_.labels.size(0); ++id) {
    plan.ids.push_back(ExampleId{static_cast<std::uint64_t>(id)});
  }
  plan.workers.assign(plan.ids.size(), spec.reader);
  plan.ends = {images_.labels.size(0)};
  feed_.begin(std::move(plan));
  const feed::DevicePlan placed = *feed_.on_device();
  const bool same = planned_for_.batch == spec.batch && planned_for_.protocol == spec.protocol &&
                    planned_for_.mirror == spec.mirror &&
                    choices_.defined() == placed.choices.defined() && !passes_.empty();
  if (!same) {
    plan_passes(spec);
    ids_ = placed.ids.clone();
    choices_ = placed.choices.defined() ? placed.choices.clone() : torch::Tensor();
  }
  if (choices_.defined()) choices_.copy_(placed.choices);
}

void DeviceEvaluation::compute(const Pass& pass) {
  models::set_worker_layout(model_, pass.layout);
  const torch::Tensor batch = make_image_batch({.images = &images_,
                                                .ids = ids_,
                                                .choices = choices_,
                                                .step = state_at(step_state_),
                                                .rows = pass.rows,
                                                .half = half_});
  const torch::Tensor logits = test_logits(model_, batch, planned_for_.mirror).contiguous();
  cuda::MeasureSignals call{
      .logits = logits.data_ptr<float>(),
      .rows = pass.rows,
      .classes = logits.size(1),
      .labels = images_.labels.data_ptr<std::int64_t>(),
      .ids = ids_.data_ptr<std::int64_t>(),
      .step = state_at(step_state_),
      .signals = {.out = results_.data_ptr<float>(), .stride = results_.size(1)}};
  call.signals.places.set(importance::Signal::kLoss, kLossRow);
  call.signals.places.set(importance::Signal::kCorrect, kCorrectRow);
  cuda::measure_signals(call, tensors::current_stream());
}

void DeviceEvaluation::run_passes() {
  const torch::NoGradGuard no_grad;
  const tensors::BenchmarkMode quick_start(false);
  const EvaluationMode mode(model_, planned_for_.protocol == config::EvalConfig::Protocol::kPaper);
  for (Pass& pass : passes_) {
    cuda::set_step(state_at(step_state_), {.first_row = pass.first_row}, tensors::current_stream());
    const auto like = std::find_if(passes_.begin(), passes_.end(), [&](const Pass& other) {
      return other.graph && other.rows == pass.rows;
    });
    if (!pass.graph && like != passes_.end()) pass.graph = like->graph;
    if (!pass.graph && runs_ > 0) {
      pass.graph = std::make_shared<StepGraph>();
      pass.graph->record([&] { compute(pass); });
    }
    pass.graph ? pass.graph->replay() : compute(pass);
  }
  ++runs_;
}

Evaluation DeviceEvaluation::evaluate(const EvaluationSpec& spec) {
  begin(spec);
  run_passes();
  const torch::NoGradGuard no_grad;
  const auto sums = results_.sum(1, /*keepdim=*/false, torch::kFloat64).to(torch::kCPU);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, results_.size(1)));
  return {.predictions = static_cast<std::uint64_t>(results_.size(1)),
          .loss = sums[kLossRow].item<double>() / count,
          .accuracy = 100 * sums[kCorrectRow].item<double>() / count};
}

}  // namespace impart::train
