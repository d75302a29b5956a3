#include "impart/train/steps/epoch_passes.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "impart/cuda/device.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/train/costs/phase_clock.h"

namespace impart::train {
namespace {

/// The weights of these rows; undefined if all are 1.
torch::Tensor weigh_rows(const std::vector<ExampleId>& ids, std::span<const float> weights,
                         torch::Device device) {
  if (weights.empty()) return {};
  torch::Tensor rows = torch::empty({static_cast<std::int64_t>(ids.size())});
  float* const into = rows.data_ptr<float>();
  for (std::size_t row = 0; row < ids.size(); ++row) into[row] = weights[index(ids[row])];
  return rows.to(device);
}

}  // namespace

EpochPasses::EpochPasses(const EpochPassesSpec& spec)
    : spec_(spec),
      losses_(models::losses_of(spec.feed->task())),
      layout_(std::make_shared<models::WorkerLayout>()),
      dropout_(std::make_shared<models::DropoutPlan>()) {
  models::set_worker_layout(*spec_.model, layout_);
  dropout_->seed = spec_.seed;
  has_dropout_ = models::set_dropout_plan(*spec_.model, dropout_);
}

void EpochPasses::begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch,
                              std::uint32_t first_step, std::span<const float> weights) {
  plan_ = &plan;
  example_weights_ = weights;
  first_step_ = first_step;
  dropout_->epoch = epoch;
  placement::VisitList visits = placement::visits_of(plan, spec_.hosted, first_step, plan.steps());
  rows_ = static_cast<std::int64_t>(visits.ids.size());
  weights_ = weigh_rows(visits.ids, weights, spec_.feed->device());
  feed::FeedPlan feed_plan{
      .epoch = epoch, .ids = std::move(visits.ids), .workers = std::move(visits.workers)};
  groups_.clear();
  std::int64_t row = 0;
  for (std::uint32_t step = first_step; step < plan.steps(); ++step) {
    groups_.push_back(group_workers(step, row));
    for (const WorkerGroup& group : groups_.back()) {
      row = group.row + group.rows;
      feed_plan.ends.push_back(row);
    }
  }
  spec_.feed->begin(std::move(feed_plan));
}

void EpochPasses::set_one_by_one(bool one_by_one) {
  spec_.one_by_one = one_by_one;
  models::set_worker_layout(*spec_.model, layout_);  // another kind of step may have set its own
}

void EpochPasses::limit_rows(std::int64_t most) {
  spec_.most_rows = most;
  models::set_worker_layout(*spec_.model, layout_);  // another kind of step may have set its own
  begin_epoch(*plan_, dropout_->epoch, first_step_, example_weights_);
}

std::int64_t EpochPasses::largest_pass(std::uint32_t step) const {
  std::int64_t largest = 0;
  for (const WorkerGroup& group : groups_of(step)) largest = std::max(largest, group.rows);
  return largest;
}

std::int64_t EpochPasses::smallest_pass(std::uint32_t step) const {
  std::int64_t largest = 0;
  for (std::uint32_t worker = 0; worker < spec_.hosted.count;) {
    const std::uint32_t end = end_of_norm_group(worker);
    largest = std::max(largest, rows_of(worker, end, step));
    worker = end;
  }
  return largest;
}

/// Behind the last hosted worker that batch norm sees together with this one.
std::uint32_t EpochPasses::end_of_norm_group(std::uint32_t worker) const {
  const placement::NormGroups& norms = spec_.norms;
  const auto members = norms.members(norms.group_of(spec_.hosted.first + worker));
  return std::min(members.first + members.count - spec_.hosted.first, spec_.hosted.count);
}

/// Of the hosted workers first..end-1.
std::int64_t EpochPasses::rows_of(std::uint32_t first, std::uint32_t end,
                                  std::uint32_t step) const {
  std::size_t rows = 0;
  for (std::uint32_t worker = first; worker < end; ++worker) {
    rows += plan_->batch_of(WorkerId{spec_.hosted.first + worker}, step).size();
  }
  return static_cast<std::int64_t>(rows);
}

void EpochPasses::make_room() {
  collected_ =
      torch::empty({spec_.signals->size(), rows_},
                   torch::TensorOptions().device(spec_.feed->device()).dtype(torch::kFloat32));
}

/// Whole norm groups together, as many as the memory allows; all, if they are cut: the processes
/// must have equally many passes.
std::vector<WorkerGroup> EpochPasses::group_workers(std::uint32_t step,
                                                    std::int64_t first_row) const {
  std::vector<WorkerGroup> groups;
  std::int64_t row = first_row;
  for (std::uint32_t worker = 0; worker < spec_.hosted.count;) {
    const std::uint32_t end = spec_.one_by_one ? worker + 1 : end_of_norm_group(worker);
    const std::int64_t rows = rows_of(worker, end, step);
    const bool fits = !groups.empty() && !spec_.one_by_one &&
                      (sums_ != nullptr || groups.back().rows + rows <= spec_.most_rows);
    if (!fits) groups.push_back({.first = worker, .row = row});
    groups.back().count += end - worker;
    groups.back().rows += rows;
    row += rows;
    worker = end;
  }
  const WorkerGroup first = groups.front();
  std::erase_if(groups, [](const WorkerGroup& group) { return group.rows == 0; });
  if (groups.empty() && sums_ != nullptr) groups.push_back(first);
  return groups;
}

void EpochPasses::begin_step(std::uint32_t step) {
  dropout_->step = step;
  const torch::Device device = spec_.feed->device();
  const std::pair now(dropout_->epoch, step);
  if (!has_dropout_ || !device.is_cuda() || !cuda::has_kernels() || begun_ == now) return;
  models::put_key_on_device(*dropout_, device);
  begun_ = now;
}

void EpochPasses::set_dropout_rows(const WorkerGroup& group, std::uint32_t step) {
  dropout_->slices.clear();
  for (std::uint32_t worker = group.first; worker < group.first + group.count; ++worker) {
    const WorkerId id{spec_.hosted.first + worker};
    dropout_->slices.push_back({id, rows_of(worker, worker + 1, step)});
  }
}

std::span<const models::DropoutPlan::Slice> EpochPasses::dropout_slices() const {
  if (!has_dropout_) return {};
  return dropout_->slices;
}

void EpochPasses::set_layout(const WorkerGroup& group, std::uint32_t step) {
  begin_step(step);
  set_dropout_rows(group, step);
  set_norm_layout(group, step);
}

void EpochPasses::set_norm_layout(const WorkerGroup& group, std::uint32_t step) {
  layout_->starts.assign(1, 0);
  layout_->shared_rows.clear();
  for (std::uint32_t worker = 0; worker < spec_.hosted.count;) {
    const std::uint32_t end = end_of_norm_group(worker);
    const std::uint32_t first_inside = std::max(worker, group.first);
    const std::uint32_t end_inside = std::min(end, group.first + group.count);
    layout_->starts.push_back(layout_->starts.back() + rows_of(first_inside, end_inside, step));
    worker = end;
  }
  layout_->shared = sums_;
  if (sums_ == nullptr) return;
  layout_->moves_running = group.first == groups_of(step).front().first;
  const std::uint32_t first_group = spec_.norms.group_of(spec_.hosted.first);
  for (std::uint32_t i = 0; i < spec_.norms.count_among(spec_.hosted); ++i) {
    const auto members = spec_.norms.members(first_group + i);
    std::size_t rows = 0;
    for (std::uint32_t worker = members.first; worker < members.first + members.count; ++worker) {
      rows += plan_->batch_of(WorkerId{worker}, step).size();
    }
    layout_->shared_rows.push_back(static_cast<std::int64_t>(rows));
  }
}

feed::Batch EpochPasses::next_batch() {
  const PhaseTimer timer(*spec_.clock, &store::PhaseSeconds::data_wait);
  store::PhaseSeconds waited;
  feed::Batch batch = spec_.feed->next(waited);
  if (waited.exchange > 0) spec_.clock->rename(&store::PhaseSeconds::exchange);
  return batch;
}

void EpochPasses::bring_batch() {
  const PhaseTimer timer(*spec_.clock, &store::PhaseSeconds::data_wait);
  store::PhaseSeconds waited;
  spec_.feed->bring(waited);
  if (waited.exchange > 0) spec_.clock->rename(&store::PhaseSeconds::exchange);
}

torch::Tensor EpochPasses::forward_losses(const WorkerGroup& group, std::uint32_t step) {
  set_layout(group, step);
  const feed::Batch batch = next_batch();
  const PhaseTimer timer(*spec_.clock, &store::PhaseSeconds::forward);
  const auto output = spec_.model->forward(batch.inputs);
  const models::MeasuredLosses losses = losses_.measure(output.logits, batch.targets);
  if (spec_.collect_signals && group.rows > 0) {
    const PhaseTimer tracking(*spec_.clock, &store::PhaseSeconds::tracking);
    collected_.narrow(1, group.row, group.rows)
        .copy_(spec_.signals->compute(output, batch.targets, losses));
  }
  const double smoothing = spec_.label_smoothing;
  const torch::Tensor minimised =
      smoothing == 0
          ? losses.examples
          : models::smooth_losses(losses.examples, output.logits, batch.targets, smoothing);
  return weights_.defined() ? minimised * weights_.narrow(0, group.row, group.rows) : minimised;
}

void EpochPasses::backward(const torch::Tensor& loss) {
  const PhaseTimer timer(*spec_.clock, &store::PhaseSeconds::backward);
  loss.backward();
  if (spec_.half_weights) spec_.half_weights->collect_gradients();
}

torch::Tensor EpochPasses::collected(std::int64_t rows) const {
  return collected_.narrow(1, 0, rows).to(torch::kCPU).contiguous();
}

}  // namespace impart::train
