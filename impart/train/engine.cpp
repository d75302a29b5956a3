#include "impart/train/engine.h"

#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/placement/placement.h"
#include "impart/tensors/device_memory.h"
#include "impart/tensors/threads.h"
#include "impart/tensors/torch_compat.h"
#include "impart/train/fitting_rows.h"
#include "impart/train/passes/dissimilarity.h"
#include "impart/train/passes/inference_losses.h"

namespace impart::train {
namespace {

std::unique_ptr<HalfWeights> make_half_weights(const EngineSpec& spec, FlatParameters& parameters) {
  if (spec.config.precision != config::RunConfig::Precision::kBf16) return nullptr;
  return std::make_unique<HalfWeights>(*spec.model, parameters);
}

}  // namespace

Engine::Engine(EngineSpec spec, comm::Communicator& communicator)
    : spec_(std::move(spec)),
      communicator_(communicator),
      hosted_(placement::hosted_workers(spec_.config.workers.count, communicator.rank(),
                                        communicator.size())),
      norms_({.workers = spec_.config.workers.count,
              .size = spec_.config.workers.norm_group(),
              .processes = communicator.size()},
             communicator),
      signal_set_(placement::tracked_notions(config::placement_spec(spec_.config, spec_.own))),
      parameters_(*spec_.model),
      statistics_(*spec_.model, spec_.config.workers, norms_, communicator),
      half_weights_(make_half_weights(spec_, parameters_)),
      optimizer_(spec_.config.optimizer, parameters_.values()),
      clock_(device().is_cuda() ? make_device_marks() : make_host_marks()),
      passes_(passes_spec()),
      apart_(config::trains_apart(spec_.config, 0)),
      step_(choose_step(step_context())) {
  if (is_exact(spec_.config.workers)) tensors::set_threads(1);
}

EpochPassesSpec Engine::passes_spec() {
  const config::WorkersConfig& workers = spec_.config.workers;
  return {.model = spec_.model.get(),
          .feed = spec_.feed,
          .signals = &signal_set_,
          .collect_signals = spec_.collect_signals,
          .half_weights = half_weights_.get(),
          .clock = &clock_,
          .hosted = hosted_,
          .seed = seed_of(spec_.config, &config::RunConfig::seed_augment),
          .most_rows = most_rows(workers, device()),
          .one_by_one = is_exact(workers) || config::trains_apart(spec_.config, 0),
          .norms = norms_.groups(),
          .label_smoothing = spec_.config.optimizer.label_smoothing};
}

StepContext Engine::step_context() {
  return {.config = &spec_.config,
          .own = &spec_.own,
          .communicator = &communicator_,
          .model = spec_.model.get(),
          .feed = spec_.feed,
          .signals = spec_.collect_signals ? &signal_set_ : nullptr,
          .hosted = hosted_,
          .passes = &passes_,
          .norms = &norms_,
          .parameters = &parameters_,
          .half_weights = half_weights_.get(),
          .optimizer = &optimizer_,
          .clock = &clock_,
          .note = &spec_.note,
          .apart = apart_};
}

/// Whether gradients are averaged at first, and models later.
bool Engine::may_change_steps() const {
  return spec_.config.workers.sync_start.of(spec_.config.epochs) > 0;
}

void Engine::show_worker(std::optional<std::uint32_t> worker) {
  step_->show_worker(worker);
  if (worker) statistics_.show(*worker);
}

void Engine::choose_steps(bool apart) {
  if (apart == apart_) return;
  apart_ = apart;
  passes_.set_one_by_one(apart || is_exact(spec_.config.workers));
  step_.reset();
  step_ = choose_step(step_context());
}

void Engine::begin_epoch(const placement::StepPlan& plan, std::uint32_t epoch,
                         std::uint32_t first_step, std::span<const float> weights) {
  next_row_ = 0;
  choose_steps(config::trains_apart(spec_.config, epoch));
  statistics_.note_training(plan);
  passes_.begin_epoch(plan, epoch, first_step, weights);
  if (half_weights_) half_weights_->refresh();
  step_->begin_epoch();
  spec_.model->train();
}

void Engine::run_step(std::uint32_t step, double learning_rate) {
  has_fitted_ ? step_->run(step, learning_rate) : run_first_step(step, learning_rate);
  for (const WorkerGroup& group : passes_.groups_of(step)) next_row_ = group.row + group.rows;
}

/// Passes that do not fit into a GPU's memory are made smaller, unless the config says how large
/// they are: then it says what would fit. Processes that depend on each other try only once.
void Engine::run_first_step(std::uint32_t step, double learning_rate) {
  has_fitted_ = true;
  if (!device().is_cuda() || passes_.groups_of(step).empty()) {
    return step_->run(step, learning_rate);
  }
  const bool is_alone = communicator_.size() == 1;
  const std::int64_t wanted = passes_.largest_pass(step);
  const auto configured = spec_.config.workers.micro_batch;
  const FoundRows found =
      find_fitting_rows({.wanted = wanted,
                         .smallest = is_alone ? passes_.smallest_pass(step) : wanted,
                         .fits = [&](std::int64_t rows) {
                           if (rows < wanted) limit_passes(rows);
                           return try_step(step, learning_rate);
                         }});
  if (found.reason.empty()) return;
  if (configured > 0) throw ConfigError(found.reason);
  if (spec_.note) spec_.note(found.reason);
}

/// Whether the step's passes fit. If not, nothing has changed.
bool Engine::try_step(std::uint32_t step, double learning_rate) {
  const auto statistics = communicator_.size() == 1 ? statistics_.gather() : std::nullopt;
  const tensors::BenchmarkMode mode(false);  // trying algorithms takes long where memory is short
  try {
    step_->run(step, learning_rate);
    return true;
  } catch (const std::exception& error) {
    if (!tensors::is_out_of_memory(error)) throw;
  }
  if (statistics) statistics_.restore(*statistics);
  return false;
}

void Engine::limit_passes(std::int64_t rows) {
  spec_.config.workers.micro_batch = static_cast<std::uint32_t>(rows);
  step_.reset();
  tensors::free_kept_memory();
  passes_.limit_rows(rows);
  step_ = choose_step(step_context());
  step_->begin_epoch();
}

std::vector<float> Engine::inference_losses(const placement::Partition& partition) {
  statistics_.collapse();
  return train::inference_losses(*spec_.model, *spec_.feed, partition, communicator_);
}

std::optional<double> Engine::dissimilarity(const placement::Partition& partition,
                                            std::uint32_t epoch) {
  statistics_.collapse();
  const std::uint64_t seed = seed_of(spec_.config, &config::RunConfig::seed_order);
  return measure_dissimilarity(*spec_.model, *spec_.feed, draw_samples(partition, seed, epoch),
                               communicator_);
}

MeasuredExamples Engine::measure(const placement::Parts& lists) {
  statistics_.collapse();
  const models::TaskLosses& losses = models::losses_of(spec_.feed->task());
  const auto compute = [&](const models::Classifier::Output& output, const feed::Batch& batch) {
    return signal_set_.compute(output, batch.targets, losses.measure(output.logits, batch.targets));
  };
  return measure_examples({.model = spec_.model.get(),
                           .feed = spec_.feed,
                           .numbers = signal_set_.size(),
                           .measure = compute},
                          lists, communicator_);
}

NamedTensors Engine::gather_state() {
  NamedTensors state = gather_statistics();
  for (std::size_t i = 0; i < optimizer_.state().size(); ++i) {
    state.emplace_back(fmt::format("optimizer.{}", i),
                       parameters_.to_cpu_order(optimizer_.state()[i]));
  }
  state.emplace_back("optimizer.steps", torch::tensor({optimizer_.steps()}, torch::kInt64));
  if (may_change_steps()) {
    state.emplace_back("apart", torch::tensor({apart_ ? 1 : 0}, torch::kInt64));
  }
  step_->gather_state(state);
  return state;
}

void Engine::restore_state(const FindTensor& find) {
  const torch::NoGradGuard no_grad;
  if (may_change_steps()) choose_steps(find("apart").item<std::int64_t>() != 0);
  for (std::size_t i = 0; i < optimizer_.state().size(); ++i) {
    parameters_.copy_from_cpu_order(find(fmt::format("optimizer.{}", i)), optimizer_.state()[i]);
  }
  optimizer_.set_steps(find("optimizer.steps").item<std::int64_t>());
  restore_statistics(find);
  step_->restore_state(find);
}

NamedTensors Engine::gather_statistics() {
  const auto statistics = statistics_.gather();
  if (!statistics) return {};
  return {{"worker_statistics", *statistics}};
}

void Engine::restore_statistics(const FindTensor& find) {
  if (!statistics_.empty()) statistics_.restore(find("worker_statistics"));
}

std::optional<double> Engine::running_loss() const {
  if (next_row_ == 0) return std::nullopt;
  return collected_signals().select(0, SignalSet::kLossRow).mean().item<double>();
}

}  // namespace impart::train
