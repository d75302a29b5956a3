#include "impart/train/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/comm/exact_sum.h"
#include "impart/config/rules.h"
#include "impart/models/layers/worker_statistics.h"
#include "impart/models/losses.h"
#include "impart/placement/placement.h"

namespace impart::train {
namespace {

/// Most examples in one forward pass where the config leaves it to us.
constexpr std::int64_t kMostRows = 4096, kMostRowsOnGpu = 16384;
constexpr std::size_t kInferenceBatch = 512;

std::span<float> floats(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// A communicator needs memory of the host: the tensor itself, or a copy that `change` changes and
/// that is then copied back.
template <class Change>
void change_on_host(torch::Tensor& tensor, Change&& change) {
  torch::Tensor host = tensor.to(torch::kCPU);
  change(host);
  if (!tensor.device().is_cpu()) tensor.copy_(host);
}

/// Adds the time from its construction to its end to a number of seconds.
class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

Engine::Engine(EngineSpec spec, comm::Communicator& communicator)
    : spec_(std::move(spec)),
      communicator_(communicator),
      hosted_(placement::hosted_workers(spec_.config.workers.count, communicator.rank(),
                                        communicator.size())),
      signal_set_(placement::tracked_notions(config::placement_spec(spec_.config, spec_.own))),
      layout_(std::make_shared<models::WorkerLayout>()),
      dropout_(std::make_shared<models::DropoutPlan>()),
      parameters_(*spec_.model),
      optimizer_(spec_.config.optimizer, parameters_.values()),
      gradient_sum_(parameters_, communicator) {
  models::set_worker_layout(*spec_.model, layout_);
  dropout_->seed = spec_.config.seed;
  models::set_dropout_plan(*spec_.model, dropout_);
  start_worker_statistics();
  if (is_exact()) torch::set_num_threads(1);
  if (spec_.config.precision == config::RunConfig::Precision::kBf16) {
    half_weights_ = std::make_unique<HalfWeights>(*spec_.model, parameters_);
  }
  if (device().is_cuda()) start_device_steps();
  for (std::uint32_t worker = 0; is_local() && worker < hosted_.count; ++worker) {
    replicas_.push_back(
        {parameters_.values().clone(), Optimizer(spec_.config.optimizer, parameters_.values())});
  }
}

std::int64_t Engine::most_rows() const {
  const std::int64_t wanted = spec_.config.workers.micro_batch;
  return wanted > 0 ? wanted : device().is_cuda() ? kMostRowsOnGpu : kMostRows;
}

/// Whether every step is one pass, after which a kernel can change the weights. The answer is that
/// of the process with the most workers: all must agree.
bool Engine::can_update_on_device() const {
  const config::WorkersConfig& workers = spec_.config.workers;
  const std::int64_t hosted = (workers.count + communicator_.size() - 1) / communicator_.size();
  const std::int64_t rows = hosted * workers.batch;
  return cuda::has_kernels() && !is_local() && !is_exact() && rows <= most_rows();
}

void Engine::start_device_steps() {
  using Transport = config::WorkersConfig::Transport;
  const Transport transport = spec_.config.workers.transport;
  const bool can_update = can_update_on_device();
  if (transport == Transport::kNccl) {
    config::check_rules(spec_.config, {.own = {.rows = spec_.own, .model = true, .data = true},
                                       .updates_on_device = can_update});
  }
  if (!can_update) return;
  if (transport != Transport::kMpi) {
    device_sum_ = comm::make_device_sum(communicator_, transport == Transport::kNccl
                                                           ? comm::DeviceSumUse::kAlways
                                                           : comm::DeviceSumUse::kWherePossible);
  }
  if (communicator_.size() > 1 && !device_sum_) return;
  device_update_ =
      std::make_unique<DeviceUpdate>(DeviceUpdateSpec{.optimizer = spec_.config.optimizer,
                                                      .parameters = &parameters_,
                                                      .half_weights = half_weights_.get(),
                                                      .state = &optimizer_,
                                                      .sum = device_sum_.get()});
  if (!spec_.feed->on_device()) return;
  device_steps_ = std::make_unique<DeviceSteps>(
      DeviceStepsSpec{.signals = spec_.collect_signals ? &signal_set_ : nullptr,
                      .model = spec_.model.get(),
                      .half = half_weights_ != nullptr,
                      .label_smoothing = spec_.config.optimizer.label_smoothing,
                      .update = device_update_.get(),
                      .feed = spec_.feed});
}

/// All workers start from the model's own statistics.
void Engine::start_worker_statistics() {
  const bool shared = spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
  const std::int64_t workers = shared ? 1 : hosted_.count;
  models::visit_batch_norms(*spec_.model,
                            [&](const std::string&, models::WorkerBatchNorm2dImpl& layer) {
                              layer.set_worker_statistics(layer.running_mean.repeat({workers, 1}),
                                                          layer.running_var.repeat({workers, 1}));
                            });
}

void Engine::begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch,
                         std::uint32_t first_step) {
  plan_ = &plan;
  first_step_ = first_step;
  dropout_->epoch = epoch;
  placement::VisitList visits = placement::visits_of(plan, hosted_, first_step, plan.steps());
  const auto rows = static_cast<std::int64_t>(visits.ids.size());
  feed::FeedPlan feed_plan{
      .epoch = epoch, .ids = std::move(visits.ids), .workers = std::move(visits.workers)};
  groups_.clear();
  next_row_ = 0;
  for (std::uint32_t step = first_step; step < plan.steps(); ++step) {
    groups_.push_back(group_workers(step, next_row_));
    for (const Group& group : groups_.back()) {
      next_row_ = group.row + group.rows;
      feed_plan.ends.push_back(next_row_);
    }
  }
  next_row_ = 0;
  spec_.feed->begin(std::move(feed_plan));
  if (half_weights_) half_weights_->refresh();
  if (device_steps_) device_steps_->begin_epoch(rows);
  if (!device_steps_) {
    collected_ = torch::empty({signal_set_.size(), rows},
                              torch::TensorOptions().device(device()).dtype(torch::kFloat32));
  }
  spec_.model->train();
}

/// Whole workers together, as many as the memory allows: batch norm needs all rows of a worker.
/// Groups without rows are left out.
std::vector<Engine::Group> Engine::group_workers(std::uint32_t step, std::int64_t first_row) const {
  const std::int64_t most = most_rows();
  const bool one_by_one = is_exact() || is_local();
  const bool shared_norm =
      spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
  std::vector<Group> groups;
  std::int64_t row = first_row;
  for (std::uint32_t worker = 0; worker < hosted_.count; ++worker) {
    const auto rows =
        static_cast<std::int64_t>(plan_->batch_of(WorkerId{hosted_.first + worker}, step).size());
    const bool fits =
        !groups.empty() && !one_by_one && (shared_norm || groups.back().rows + rows <= most);
    if (!fits) groups.push_back({.first = worker, .row = row});
    ++groups.back().count;
    groups.back().rows += rows;
    row += rows;
  }
  std::erase_if(groups, [](const Group& group) { return group.rows == 0; });
  return groups;
}

/// Tells the layers that need to know whose rows the next batch has. Workers outside the group have
/// none, and so keep their statistics.
void Engine::set_layout(const Group& group, std::uint32_t step) {
  dropout_->step = step;
  dropout_->slices.clear();
  for (std::uint32_t worker = 0; worker < group.count; ++worker) {
    const WorkerId id{hosted_.first + group.first + worker};
    dropout_->slices.push_back({id, static_cast<std::int64_t>(plan_->batch_of(id, step).size())});
  }
  if (spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared) {
    layout_->starts = {0, group.rows};
    return;
  }
  layout_->starts.assign(1, 0);
  for (std::uint32_t worker = 0; worker < hosted_.count; ++worker) {
    const bool inside = worker >= group.first && worker < group.first + group.count;
    const auto rows = inside ? plan_->batch_of(WorkerId{hosted_.first + worker}, step).size() : 0;
    layout_->starts.push_back(layout_->starts.back() + static_cast<std::int64_t>(rows));
  }
}

torch::Tensor Engine::forward_losses(const Group& group, std::uint32_t step) {
  set_layout(group, step);
  const feed::Batch batch = spec_.feed->next(seconds_);
  const Timer timer(seconds_.forward);
  const auto output = spec_.model->forward(batch.inputs);
  const models::MeasuredLosses losses = models::measure_losses(output.logits, batch.targets);
  if (spec_.collect_signals) {
    collected_.narrow(1, group.row, group.rows)
        .copy_(signal_set_.compute(output, batch.targets, losses));
  }
  const double smoothing = spec_.config.optimizer.label_smoothing;
  if (smoothing == 0) return losses.examples;
  return models::smooth_losses(losses.examples, output.logits, batch.targets, smoothing);
}

void Engine::run_backward(const torch::Tensor& loss) {
  const Timer timer(seconds_.backward);
  loss.backward();
  if (half_weights_) half_weights_->collect_gradients();
}

void Engine::run_step(std::uint32_t step, double learning_rate) {
  if (device_steps_) {
    run_recorded_step(step, learning_rate);
  } else if (device_update_) {
    run_device_step(step, learning_rate);
  } else if (is_local()) {
    run_local_step(step, learning_rate);
  } else if (is_exact()) {
    run_exact_step(step, learning_rate);
  } else {
    run_shared_step(step, learning_rate);
  }
  if (half_weights_ && !device_update_) half_weights_->refresh();
  for (const Group& group : groups_of(step)) next_row_ = group.row + group.rows;
}

void Engine::run_recorded_step(std::uint32_t step, double learning_rate) {
  const Timer timer(seconds_.forward);
  // A process whose workers have no examples left still takes part in the sum.
  const Group group = groups_of(step).empty() ? Group{} : groups_of(step).front();
  set_layout(group, step);
  device_steps_->run({.starts = &layout_->starts,
                      .first_row = group.row,
                      .examples = plan_->examples_in(step),
                      .learning_rate = learning_rate});
}

void Engine::run_device_step(std::uint32_t step, double learning_rate) {
  const std::uint64_t examples = plan_->examples_in(step);
  device_update_->clear_gradients();
  for (const Group& group : groups_of(step)) {
    const auto losses = forward_losses(group, step);
    const Timer timer(seconds_.backward);
    (losses.sum() / static_cast<double>(examples)).backward();
  }
  const Timer timer(seconds_.weight_update);
  device_update_->begin({.examples = examples, .learning_rate = learning_rate});
  device_update_->apply();
  device_update_->clear_gradients();
}

void Engine::run_shared_step(std::uint32_t step, double learning_rate) {
  const auto examples = static_cast<double>(plan_->examples_in(step));
  parameters_.gradients().zero_();
  const auto& groups = groups_of(step);
  if (groups.empty()) gradient_sum_.expect_backward();
  for (const Group& group : groups) {
    const auto losses = forward_losses(group, step);
    if (&group == &groups.back()) gradient_sum_.expect_backward();
    run_backward(losses.sum() / examples);
  }
  {
    const Timer timer(seconds_.weight_exchange);
    gradient_sum_.finish();
  }
  const Timer timer(seconds_.weight_update);
  optimizer_.step(parameters_.values(), parameters_.gradients(), learning_rate);
}

void Engine::run_exact_step(std::uint32_t step, double learning_rate) {
  const auto examples = static_cast<double>(plan_->examples_in(step));
  std::vector<torch::Tensor> gradients;
  for (const Group& group : groups_of(step)) {
    parameters_.gradients().zero_();
    run_backward(forward_losses(group, step).sum() / examples);
    gradients.push_back(parameters_.gradients().clone());
  }
  {
    const Timer timer(seconds_.weight_exchange);
    std::vector<std::span<const float>> contributions;
    for (torch::Tensor& gradient : gradients) gradient = gradient.to(torch::kCPU);
    for (torch::Tensor& gradient : gradients) contributions.emplace_back(floats(gradient));
    change_on_host(parameters_.gradients(), [&](torch::Tensor& sum) {
      comm::exact_all_reduce_sum(communicator_, contributions, floats(sum));
    });
  }
  const Timer timer(seconds_.weight_update);
  optimizer_.step(parameters_.values(), parameters_.gradients(), learning_rate);
}

void Engine::run_local_step(std::uint32_t step, double learning_rate) {
  for (const Group& group : groups_of(step)) {
    Replica& replica = replicas_[group.first];
    const torch::NoGradGuard no_grad;
    parameters_.values().copy_(replica.values);
    parameters_.gradients().zero_();
    if (half_weights_) half_weights_->refresh();
    {
      const torch::AutoGradMode with_grad(true);
      run_backward(forward_losses(group, step).mean());
    }
    const Timer timer(seconds_.weight_update);
    replica.optimizer.step(parameters_.values(), parameters_.gradients(), learning_rate);
    replica.values.copy_(parameters_.values());
  }
  const config::SyncRule& sync = spec_.config.workers.sync;
  const bool due = sync.kind == config::SyncRule::Kind::kEverySteps && (step + 1) % sync.steps == 0;
  if (due) average_replicas();
}

void Engine::average_replicas() {
  const Timer timer(seconds_.weight_exchange);
  const torch::NoGradGuard no_grad;
  torch::Tensor& mean = parameters_.values();
  if (is_exact()) {
    std::vector<torch::Tensor> values;
    std::vector<std::span<const float>> contributions;
    for (Replica& replica : replicas_) values.push_back(replica.values.to(torch::kCPU));
    for (torch::Tensor& value : values) contributions.emplace_back(floats(value));
    change_on_host(mean, [&](torch::Tensor& sum) {
      comm::exact_all_reduce_sum(communicator_, contributions, floats(sum));
    });
  } else {
    mean.zero_();
    for (const Replica& replica : replicas_) mean.add_(replica.values);
    change_on_host(mean, [&](torch::Tensor& sum) { communicator_.all_reduce_sum(floats(sum)); });
  }
  mean.div_(static_cast<double>(spec_.config.workers.count));
  for (Replica& replica : replicas_) replica.values.copy_(mean);
}

void Engine::end_epoch() {
  if (device_sum_) device_sum_->wait(tensors::current_stream());
  if (is_local()) average_replicas();
  if (half_weights_ && !device_update_) half_weights_->refresh();
}

torch::Tensor Engine::collected_signals() const {
  if (device_sum_) device_sum_->wait(tensors::current_stream());
  if (device_steps_) return device_steps_->collected(next_row_);
  return collected_.narrow(1, 0, next_row_).to(torch::kCPU).contiguous();
}

/// [n, k] on every process from the [hosted, k] of each.
torch::Tensor Engine::gather_rows(const torch::Tensor& hosted_rows) {
  const auto mine = hosted_rows.to(torch::kCPU, torch::kFloat32).contiguous();
  const std::int64_t width = mine.numel() / std::max<std::int64_t>(1, mine.size(0));
  std::vector<std::size_t> counts;
  for (std::uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    const auto there =
        placement::hosted_workers(spec_.config.workers.count, rank, communicator_.size());
    counts.push_back(there.count * static_cast<std::size_t>(width));
  }
  auto all = torch::empty({static_cast<std::int64_t>(spec_.config.workers.count), width});
  const std::span<const float> mine_values(mine.data_ptr<float>(),
                                           static_cast<std::size_t>(mine.numel()));
  communicator_.all_gather(mine_values, counts, floats(all));
  return all;
}

void Engine::collapse_statistics() {
  const torch::NoGradGuard no_grad;
  auto statistics = models::sum_worker_statistics(*spec_.model);
  if (statistics.numel() == 0) return;
  const bool shared = spec_.config.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
  const bool first_only =
      spec_.config.workers.running_stats == config::WorkersConfig::RunningStats::kWorker0;
  if (device().is_cuda() && communicator_.size() == 1) {
    models::collapse_running_statistics(*spec_.model, first_only ? models::StatisticsOfRun::kWorker0
                                                                 : models::StatisticsOfRun::kMean);
    return;
  }
  if (!shared) {
    // All rows, then summed in the order of workers: the same bits for every number of processes.
    std::vector<torch::Tensor> rows;
    for (std::uint32_t worker = 0; worker < hosted_.count; ++worker) {
      rows.push_back(models::copy_worker_statistics(*spec_.model, worker));
    }
    const auto all = gather_rows(torch::stack(rows));
    statistics = first_only ? all[0].clone() : torch::zeros_like(all[0]);
    for (std::int64_t worker = 0; !first_only && worker < all.size(0); ++worker)
      statistics += all[worker];
    if (!first_only) statistics /= static_cast<double>(all.size(0));
  }
  models::set_running_statistics(*spec_.model, statistics.to(device()));
}

/// Worker by worker, so that batches, and with them the bits, do not depend on the number of
/// processes.
std::vector<float> Engine::inference_losses(const placement::Partition& partition) {
  const torch::NoGradGuard no_grad;
  collapse_statistics();
  spec_.model->eval();
  const placement::Parts parts = partition.parts();
  feed::FeedPlan plan{.augment = false};
  for (std::uint32_t worker = hosted_.first; worker < hosted_.first + hosted_.count; ++worker) {
    const auto part = parts.of(WorkerId{worker});
    for (std::size_t end = 0; end < part.size();) {
      end = std::min(end + kInferenceBatch, part.size());
      plan.ends.push_back(static_cast<std::int64_t>(plan.ids.size() + end));
    }
    plan.ids.insert(plan.ids.end(), part.begin(), part.end());
    plan.workers.insert(plan.workers.end(), part.size(), WorkerId{worker});
  }
  const std::vector<std::int64_t> ends = plan.ends;
  auto mine = torch::empty({static_cast<std::int64_t>(plan.ids.size())},
                           torch::TensorOptions().device(device()));
  spec_.feed->begin(std::move(plan));
  store::PhaseSeconds waiting;  // whoever calls counts the whole pass
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t start = i == 0 ? 0 : ends[i - 1];
    const feed::Batch batch = spec_.feed->next(waiting);
    mine.narrow(0, start, ends[i] - start)
        .copy_(models::example_losses(spec_.model->forward(batch.inputs).logits, batch.targets));
  }
  spec_.model->train();
  auto host = mine.to(torch::kCPU).contiguous();
  return gather_by_example(floats(host), parts);
}

/// The values of all examples, from those of every process's parts.
std::vector<float> Engine::gather_by_example(std::span<const float> mine,
                                             const placement::Parts& parts) {
  std::vector<ExampleId> ids;
  std::vector<std::size_t> counts;
  for (std::uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    const auto there = placement::hosted_workers(parts.workers(), rank, communicator_.size());
    const std::size_t before = ids.size();
    for (std::uint32_t worker = there.first; worker < there.first + there.count; ++worker) {
      const auto part = parts.of(WorkerId{worker});
      ids.insert(ids.end(), part.begin(), part.end());
    }
    counts.push_back(ids.size() - before);
  }
  std::vector<float> by_part(ids.size()), by_example(ids.size());
  communicator_.all_gather(mine, counts, std::span<float>(by_part));
  for (std::size_t i = 0; i < ids.size(); ++i) by_example[index(ids[i])] = by_part[i];
  return by_example;
}

}  // namespace impart::train
