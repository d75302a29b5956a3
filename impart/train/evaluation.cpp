#include "impart/train/evaluation.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/models/layers/worker_statistics.h"
#include "impart/models/task_losses.h"

namespace impart::train {
namespace {

/// Lets batch norms use the test batch's statistics while it lives, and puts everything back.
class BatchStatistics {
 public:
  BatchStatistics(models::Classifier& model, std::uint32_t workers)
      : model_(model), layout_(std::make_shared<models::WorkerLayout>()) {
    layout_->starts.assign(workers + 1, 0);
    models::visit_batch_norms(model, [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
      const auto copy = [](const torch::Tensor& t) { return t.defined() ? t.clone() : t; };
      saved_.push_back({copy(layer.worker_mean()), copy(layer.worker_variance()),
                        layer.num_batches_tracked.clone(), layer.layout()});
      layer.set_layout(layout_);
      layer.set_batch_statistics(true);
    });
  }
  ~BatchStatistics() {
    std::size_t i = 0;
    models::visit_batch_norms(model_,
                              [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
                                const Saved& saved = saved_[i++];
                                layer.set_worker_statistics(saved.mean, saved.variance);
                                layer.num_batches_tracked.copy_(saved.batches);
                                layer.set_layout(saved.layout);
                                layer.set_batch_statistics(false);
                              });
  }
  BatchStatistics(const BatchStatistics&) = delete;
  BatchStatistics& operator=(const BatchStatistics&) = delete;

  /// All rows as one batch.
  void set_rows(std::int64_t rows) {
    std::fill(layout_->starts.begin() + 1, layout_->starts.end(), rows);
  }

 private:
  struct Saved {
    torch::Tensor mean, variance, batches;
    std::shared_ptr<const models::WorkerLayout> layout;
  };
  models::Classifier& model_;
  std::shared_ptr<models::WorkerLayout> layout_;
  std::vector<Saved> saved_;
};

/// The batches of this process: every P-th of the data set.
feed::FeedPlan plan_batches(std::uint64_t examples, const EvaluationSpec& spec,
                            const comm::Communicator& communicator) {
  feed::FeedPlan plan{.epoch = spec.epoch,
                      .augment = spec.protocol == config::EvalConfig::Protocol::kPaper};
  const std::uint64_t stride = std::uint64_t{spec.batch} * communicator.size();
  for (std::uint64_t start = std::uint64_t{spec.batch} * communicator.rank(); start < examples;
       start += stride) {
    const std::uint64_t end = std::min(start + spec.batch, examples);
    for (std::uint64_t id = start; id < end; ++id) plan.ids.push_back(ExampleId{id});
    plan.ends.push_back(static_cast<std::int64_t>(plan.ids.size()));
  }
  plan.workers.assign(plan.ids.size(), spec.reader);
  return plan;
}

}  // namespace

torch::Tensor test_logits(models::Classifier& model, const torch::Tensor& inputs, bool mirror) {
  const torch::Tensor logits = model.forward(inputs).logits;
  if (!mirror) return logits;
  constexpr std::int64_t kColumns = 3;  // of [B, channels, height, width]
  return (logits + model.forward(inputs.flip(kColumns)).logits) / 2;
}

Evaluation evaluate(models::Classifier& model, feed::Feed& feed, const EvaluationSpec& spec,
                    comm::Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  model.eval();
  std::unique_ptr<BatchStatistics> statistics;
  if (spec.protocol == config::EvalConfig::Protocol::kPaper) {
    statistics = std::make_unique<BatchStatistics>(model, spec.hosted_workers);
  }
  const models::TaskLosses& losses = models::losses_of(feed.task());
  const auto options = torch::TensorOptions().device(feed.device());
  auto loss = torch::zeros({}, options.dtype(torch::kFloat64));
  auto counts = torch::zeros({2}, options.dtype(torch::kInt64));  // right ones, all
  feed::FeedPlan plan = plan_batches(feed.examples(), spec, communicator);
  const std::size_t batches = plan.ends.size();
  feed.begin(std::move(plan));
  store::PhaseSeconds waiting;  // whoever calls counts the whole evaluation
  for (std::size_t i = 0; i < batches; ++i) {
    const feed::Batch batch = feed.next(waiting);
    if (statistics) statistics->set_rows(batch.targets.size(0));
    const auto logits = test_logits(model, batch.inputs, spec.mirror);
    loss += losses.of_predictions(logits, batch.targets).sum(torch::kFloat64);
    counts += torch::stack(
        {logits.argmax(-1).eq(batch.targets).sum(), batch.targets.ne(models::kNoTarget).sum()});
  }
  statistics.reset();
  model.train();
  const auto counted = counts.to(torch::kFloat64).to(torch::kCPU);
  std::array sums = {loss.item<double>(), counted[0].item<double>(), counted[1].item<double>()};
  communicator.all_reduce_sum(std::span<double>(sums));
  const double predictions = std::max(1.0, sums[2]);
  return {.predictions = static_cast<std::uint64_t>(sums[2]),
          .loss = sums[0] / predictions,
          .accuracy = 100 * sums[1] / predictions};
}

}  // namespace impart::train
