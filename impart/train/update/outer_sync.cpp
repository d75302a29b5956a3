#include "impart/train/update/outer_sync.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/comm/exact_sum.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/diverged.h"
#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

std::unique_ptr<comm::DeviceSum> make_weight_sum(const StepContext& context) {
  using Transport = config::WorkersConfig::Transport;
  const config::WorkersConfig& workers = context.config->workers;
  const bool can = context.feed->device().is_cuda() && !is_exact(workers) &&
                   workers.transport != Transport::kMpi;
  if (!can) return nullptr;
  return comm::make_device_sum(*context.communicator, workers.transport == Transport::kNccl
                                                          ? comm::DeviceSumUse::kAlways
                                                          : comm::DeviceSumUse::kWherePossible);
}

}  // namespace

OuterSync::OuterSync(const StepContext& context, Replicas& replicas)
    : context_(context), replicas_(replicas), device_sum_(make_weight_sum(context)) {
  const config::WorkersConfig& workers = context.config->workers;
  if (!config::outer_rule(workers).function(config::outer_rates(workers, 1)).is_mean()) {
    velocity_ = torch::zeros_like(replicas.common());
  }
}

void OuterSync::begin_epoch(std::uint32_t first_step) {
  if (first_step == 0) records_.clear();
}

/// What each hosted worker's weights count, 1 where all have made as many visits.
std::vector<double> OuterSync::shares(const Stretch& stretch) const {
  const placement::StepPlan& plan = context_.passes->plan();
  std::uint64_t all = 0;
  for (std::uint32_t worker = 0; worker < plan.workers(); ++worker) {
    all += plan.visits_between(WorkerId{worker}, stretch.first, stretch.last);
  }
  std::vector<double> shares;
  for (std::uint32_t worker = 0; worker < replicas_.count(); ++worker) {
    const auto visits =
        plan.visits_between(WorkerId{context_.hosted.first + worker}, stretch.first, stretch.last);
    shares.push_back(static_cast<double>(visits * plan.workers()) / static_cast<double>(all));
  }
  return shares;
}

torch::Tensor OuterSync::add_hosted(const torch::Tensor& weights, const Stretch& stretch) const {
  torch::Tensor sum = torch::zeros_like(replicas_.common());
  const std::vector<double> share = shares(stretch);
  for (std::uint32_t worker = 0; worker < replicas_.count(); ++worker) {
    sum.add_(weights[worker], share[worker]);
  }
  return sum;
}

torch::Tensor OuterSync::sum_of_all(const torch::Tensor& weights, const Stretch& stretch) {
  if (is_exact(context_.config->workers)) {
    const std::vector<double> share = shares(stretch);
    std::vector<torch::Tensor> parts;
    for (std::uint32_t worker = 0; worker < replicas_.count(); ++worker) {
      parts.push_back(weights[worker] * share[worker]);
    }
    torch::Tensor sum = torch::empty_like(replicas_.common());
    sum_exactly(parts, sum, *context_.communicator);
    return sum;
  }
  torch::Tensor sum = add_hosted(weights, stretch);
  if (!device_sum_) {
    sum_over_processes(sum, *context_.communicator);
    return sum;
  }
  const auto count = static_cast<std::size_t>(sum.numel());
  device_sum_->sum(sum.data_ptr<float>(), count, tensors::current_stream());
  device_sum_->note_sum(count);
  device_sum_->wait(tensors::current_stream());
  return sum;
}

void OuterSync::agree(const Stretch& stretch) {
  const torch::NoGradGuard no_grad;
  torch::Tensor mean = sum_of_all(replicas_.values(), stretch);
  mean.div_(static_cast<double>(context_.config->workers.count));
  measure(replicas_.values(), mean, stretch);
  step_outside(mean, stretch.learning_rate);
  replicas_.values().copy_(replicas_.common());
  replicas_.refresh_halves();
}

void OuterSync::step_outside(const torch::Tensor& mean, double inner_lr) {
  const config::WorkersConfig& workers = context_.config->workers;
  const placement::OuterFactors factors =
      config::outer_rule(workers).function(config::outer_rates(workers, inner_lr));
  torch::Tensor& common = replicas_.common();
  if (factors.is_mean()) {
    common.copy_(mean);
    return;
  }
  const torch::Tensor change = common - mean;
  velocity_.mul_(factors.keep).add_(change, factors.gain);
  common.copy_(mean).add_(change, factors.back).add_(velocity_, factors.push);
}

/// Over several processes an exact sum is waited for at once: only its use is delayed.
void OuterSync::start(const Stretch& stretch) {
  const torch::NoGradGuard no_grad;
  pending_.emplace();
  Pending& pending = *pending_;
  pending.stretch = stretch;
  pending.starts = replicas_.values().clone();
  if (is_exact(context_.config->workers)) {
    pending.sum = sum_of_all(pending.starts, stretch);
    return;
  }
  pending.sum = add_hosted(pending.starts, stretch);
  if (device_sum_) {
    start_on_device(pending.sum);
    pending.on_lane = true;
    return;
  }
  if (context_.communicator->size() == 1) return;
  pending.sum = pending.sum.to(torch::kCPU);
  pending.reduce = context_.communicator->start_all_reduce_sum(floats(pending.sum));
}

void OuterSync::start_on_device(torch::Tensor& sum) {
  if (!lane_) lane_ = std::make_unique<tensors::StreamLanes>(1);
  const auto count = static_cast<std::size_t>(sum.numel());
  lane_->fork();
  lane_->run(0, [&] { device_sum_->sum(sum.data_ptr<float>(), count, tensors::current_stream()); });
  device_sum_->note_sum(count);
}

void OuterSync::advance() {
  if (pending_ && pending_->reduce) pending_->reduce->test();
}

void OuterSync::wait() {
  if (pending_->on_lane) {
    lane_->join();
    device_sum_->wait(tensors::current_stream());
  }
  if (pending_->reduce) pending_->reduce->wait();
  pending_->reduce.reset();
  pending_->on_lane = false;
}

void OuterSync::finish() {
  if (!pending_) return;
  const torch::NoGradGuard no_grad;
  wait();
  const Pending pending = *std::exchange(pending_, std::nullopt);
  const torch::Tensor mean = pending.sum.to(replicas_.common().device())
                                 .div(static_cast<double>(context_.config->workers.count));
  measure(pending.starts, mean, pending.stretch);
  step_outside(mean, pending.stretch.learning_rate);
  replicas_.values().sub_(pending.starts).add_(replicas_.common());
  replicas_.refresh_halves();
}

/// How far the workers have come apart, before they become one.
void OuterSync::measure(const torch::Tensor& weights, const torch::Tensor& mean,
                        const Stretch& stretch) {
  std::vector<torch::Tensor> norms;
  for (std::uint32_t worker = 0; worker < replicas_.count(); ++worker) {
    norms.push_back((weights[worker] - mean).norm());
  }
  norms.push_back(mean.norm());
  const torch::Tensor host = torch::stack(norms).to(torch::kCPU);  // a GPU is waited for once
  const torch::Tensor distances = host.narrow(0, 0, replicas_.count()).unsqueeze(1);
  const torch::Tensor all =
      gather_rows(distances, context_.config->workers.count, *context_.communicator);
  const double distance = all.to(torch::kDouble).mean().item<double>();
  const double size = host[replicas_.count()].item<double>();
  if (!std::isfinite(distance) || !std::isfinite(size)) report_bad_workers(weights, stretch);
  records_.push_back({.step = stretch.last, .divergence = size > 0 ? distance / size : 0});
}

void OuterSync::report_bad_workers(const torch::Tensor& weights, const Stretch& stretch) {
  std::vector<float> bad_steps;  // counted from 1; 0: all weights are numbers
  for (std::uint32_t worker = 0; worker < replicas_.count(); ++worker) {
    const bool is_bad = !torch::isfinite(weights[worker]).all().item<bool>();
    const auto step =
        is_bad && stretch.find_bad_step ? stretch.find_bad_step(worker) : std::nullopt;
    bad_steps.push_back(is_bad ? static_cast<float>(step.value_or(stretch.last - 1) + 1) : 0.0f);
  }
  const torch::Tensor all = gather_rows(torch::tensor(bad_steps).unsqueeze(1),
                                        context_.config->workers.count, *context_.communicator);
  std::vector<std::string> found;
  for (std::int64_t worker = 0; worker < all.size(0); ++worker) {
    const auto step = all[worker].item<float>();
    if (step > 0) found.push_back(fmt::format("worker {} (step {:.0f})", worker, step));
  }
  if (found.empty()) return;
  const std::string what = fmt::format("epoch {}: weights are no longer finite: {}",
                                       context_.passes->epoch() + 1, fmt::join(found, ", "));
  if (context_.config->train.stop_on_nan) {
    throw Diverged(what +
                   "; a smaller optimizer.lr may help, train.stop_on_nan=false averages them "
                   "nevertheless");
  }
  if (context_.note != nullptr && *context_.note) (*context_.note)(what);
}

void OuterSync::gather_state(NamedTensors& state) {
  const FlatParameters& parameters = *context_.parameters;
  if (velocity_.defined()) state.emplace_back("outer.velocity", parameters.to_cpu_order(velocity_));
  if (!context_.config->workers.outer_overlap) return;
  state.emplace_back("outer.pending", torch::tensor({pending_ ? 1 : 0}, torch::kInt64));
  if (!pending_) return;
  wait();
  const auto& common = replicas_.common();
  state.emplace_back("outer.sum", parameters.to_cpu_order(pending_->sum.to(common.device())));
  state.emplace_back("outer.starts", replicas_.gather(pending_->starts));
  const Stretch& stretch = pending_->stretch;
  state.emplace_back("outer.stretch",
                     torch::tensor({static_cast<double>(stretch.first),
                                    static_cast<double>(stretch.last), stretch.learning_rate},
                                   torch::kDouble));
}

void OuterSync::restore_state(const FindTensor& find) {
  const torch::NoGradGuard no_grad;
  const FlatParameters& parameters = *context_.parameters;
  if (velocity_.defined()) parameters.copy_from_cpu_order(find("outer.velocity"), velocity_);
  pending_.reset();
  if (!context_.config->workers.outer_overlap || find("outer.pending").item<std::int64_t>() == 0) {
    return;
  }
  pending_.emplace();
  const torch::Tensor stretch = find("outer.stretch");
  pending_->stretch = {.first = static_cast<std::uint32_t>(stretch[0].item<double>()),
                       .last = static_cast<std::uint32_t>(stretch[1].item<double>()),
                       .learning_rate = stretch[2].item<double>()};
  pending_->sum = torch::empty_like(replicas_.common());
  parameters.copy_from_cpu_order(find("outer.sum"), pending_->sum);
  pending_->starts = torch::empty_like(replicas_.values());
  replicas_.scatter(find("outer.starts"), pending_->starts);
}

}  // namespace impart::train
