#include "impart/train/trainer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/models/init.h"
#include "impart/models/models.h"
#include "impart/models/worker_statistics.h"
#include "impart/train/learning_rate.h"
#include "impart/train/run_state.h"
#include "impart/train/weights_hash.h"

namespace impart {
namespace {

constexpr std::size_t kObserveBatch = 4096;

torch::Device choose_device(const RunConfig& config) {
  const bool wanted = config.device != RunConfig::Device::kCpu && torch::cuda::is_available();
  return wanted ? torch::kCUDA : torch::kCPU;
}

std::shared_ptr<Classifier> make_model(const RunConfig& config, const ImageSet& set,
                                       torch::Device device) {
  const ModelSpec spec{
      .classes = set.classes,
      .channels = set.channels,
      .image_size = set.height,
      .stem = config.model.stem == ModelConfig::Stem::kCifar ? Stem::kCifar : Stem::kImagenet};
  auto model = find_entry(kModels, "model", config.model.name).function(spec);
  initialise_parameters(*model, config.seed);
  model->to(device);
  return model;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string_view name_of(ScheduleEvent::Kind kind) {
  switch (kind) {
    case ScheduleEvent::Kind::kRandom:
      return "random";
    case ScheduleEvent::Kind::kHeuristic:
      return "heuristic";
    case ScheduleEvent::Kind::kExchange:
      return "exchange";
  }
  return "";
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, Communicator& communicator, const RunObserver& observer,
                 ImageData data)
    : spec_(spec),
      config_(spec.config),
      communicator_(communicator),
      observer_(observer),
      train_set_(std::move(data.train)),
      test_set_(std::move(data.test)),
      device_(choose_device(spec.config)),
      test_images_(put_on_device(test_set_, device_)),
      placement_(
          config_,
          {.examples = train_set_.count, .labels = train_set_.labels, .truth = train_set_.truth}),
      engine_({.config = config_,
               .model = make_model(config_, train_set_, device_),
               .images = put_on_device(train_set_, device_)},
              communicator) {
  summary_.epochs = config_.epochs;
  summary_.examples = train_set_.count;
  summary_.workers = config_.workers.count;
  summary_.processes = communicator.size();
  summary_.seed = config_.seed;
}

RunOutcome Trainer::run() {
  if (is_writer()) {
    metrics_ = std::make_unique<MetricsLog>(config_.output + "/metrics.jsonl", position_.epoch);
    events_ = std::make_unique<EventWriter>(
        EventWriterSpec{.folder = config_.output, .first_step = position_.epoch});
  }
  while (position_.epoch < config_.epochs) {
    epoch_started_ = Clock::now();
    if (position_.step == 0) prepare_epoch();
    const auto train_started = Clock::now();
    const bool done = train_epoch();
    const double seconds_train = seconds_since(train_started);
    summary_.seconds_train += seconds_train;
    if (!done) {
      write_checkpoint();
      return finish(true);
    }
    finish_epoch(seconds_train);
    if (stopping_ && position_.epoch < config_.epochs) return finish(true);
  }
  return finish(false);
}

void Trainer::prepare_epoch() {
  const auto started = Clock::now();
  report("repartition");
  double seconds_losses = 0;
  change_ = placement_.prepare_epoch(position_.epoch, [&] {
    const auto losses_started = Clock::now();
    auto losses = engine_.inference_losses();
    seconds_losses = seconds_since(losses_started);
    return losses;
  });
  if (!change_) return;
  const bool is_exchange = change_->kind == ScheduleEvent::Kind::kExchange;
  (is_exchange ? summary_.seconds_exchange : summary_.seconds_partition) += seconds_since(started);
  summary_.seconds_importance_pass += seconds_losses;
  summary_.examples_moved += change_->moved;
  summary_.messages += change_->messages;
  if (!is_writer()) return;
  if (config_.partition.save) {
    std::filesystem::create_directories(config_.output + "/partitions");
    write_partition(fmt::format("{}/partitions/epoch-{:04}.csv", config_.output, position_.epoch),
                    placement_.partition());
  }
  if (!change_->importance.empty()) {
    events_->histogram("importance/" + config_.importance.notion, position_.epoch,
                       change_->importance);
  }
}

double Trainer::learning_rate_now() const {
  const double progress = position_.epoch + static_cast<double>(position_.step) / plan_->steps();
  return learning_rate(config_.optimizer, progress, config_.epochs, plan_->steps());
}

bool Trainer::train_epoch() {
  plan_ = std::make_unique<StepPlan>(placement_.order(position_.epoch), config_.workers.batch,
                                     config_.workers.uneven);
  first_step_ = position_.step;
  const Augmentation* augment =
      find_entry(kAugmentations, "augmentation", config_.data.augment).function;
  const AugmentPlan choices =
      augment({.seed = config_.seed, .epoch = position_.epoch, .examples = train_set_.count});
  engine_.begin_epoch(*plan_, put_on_device(choices, device_), first_step_);
  while (position_.step < plan_->steps()) {
    last_rate_ = learning_rate_now();
    engine_.run_step(position_.step, last_rate_);
    examples_trained_ += plan_->examples_in(position_.step);
    ++position_.step;
    ++position_.total_steps;
    report("train");
    if (agree_to_stop() && position_.step < plan_->steps()) return false;
  }
  engine_.end_epoch();
  return true;
}

/// A signal reaches the processes at different steps; all must stop after the same one.
bool Trainer::agree_to_stop() {
  std::array<std::int64_t, 1> stop = {spec_.stop_requested && spec_.stop_requested() ? 1 : 0};
  if (communicator_.size() > 1) communicator_.all_reduce_max(std::span<std::int64_t>(stop));
  stopping_ = stopping_ || stop[0] != 0;
  return stopping_;
}

void Trainer::finish_epoch(double seconds_train) {
  const auto tracking_started = Clock::now();
  observe_epoch();
  summary_.seconds_tracking += seconds_since(tracking_started);
  const std::uint32_t epoch = position_.epoch;
  const bool is_last = epoch + 1 == config_.epochs;
  std::optional<Evaluation> evaluation;
  if (is_last || (epoch + 1) % config_.eval.every == 0) evaluation = evaluate_model(epoch);
  record_epoch(evaluation, seconds_train);
  change_.reset();
  ++position_.epoch;
  position_.step = 0;
  const bool due = config_.checkpoint.every > 0 && position_.epoch % config_.checkpoint.every == 0;
  if (due || is_last || stopping_) write_checkpoint();
}

/// Brings the visits of all processes together: ids are known to everybody, only signals travel.
void Trainer::gather_visits(std::vector<ExampleId>& ids, std::vector<float>& values) {
  const torch::Tensor mine = engine_.collected_signals();
  const auto signals = static_cast<std::size_t>(mine.size(0));
  std::vector<std::size_t> counts;
  std::vector<VisitList> visits;
  for (std::uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    const auto hosted = hosted_workers(config_.workers.count, rank, communicator_.size());
    visits.push_back(visits_of(*plan_, hosted, first_step_, position_.step));
    counts.push_back(signals * visits.back().ids.size());
  }
  std::vector<float> all;
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  all.resize(total);
  communicator_.all_gather(
      std::span<const float>(mine.data_ptr<float>(), static_cast<std::size_t>(mine.numel())),
      counts, std::span<float>(all));

  // From [process][signal][row] to [signal][row], without the repeated visits of padded parts.
  ids = earlier_.ids;
  for (const VisitList& list : visits) {
    for (std::size_t row = 0; row < list.ids.size(); ++row) {
      if (list.observed[row]) ids.push_back(list.ids[row]);
    }
  }
  values.clear();
  values.reserve(signals * ids.size());
  for (std::size_t signal = 0; signal < signals; ++signal) {
    const auto earlier =
        std::span(earlier_.values).subspan(signal * earlier_.ids.size(), earlier_.ids.size());
    values.insert(values.end(), earlier.begin(), earlier.end());
    const float* block = all.data();
    for (const VisitList& list : visits) {
      const float* row_values = block + signal * list.ids.size();
      for (std::size_t row = 0; row < list.ids.size(); ++row) {
        if (list.observed[row]) values.push_back(row_values[row]);
      }
      block += signals * list.ids.size();
    }
  }
}

void Trainer::observe_epoch() {
  std::vector<ExampleId> ids;
  std::vector<float> values;
  gather_visits(ids, values);
  earlier_ = {};
  const std::uint64_t bad_before = placement_.table().non_finite_visits();
  const Signals whole = engine_.signals().view(values, ids.size());
  for (std::size_t start = 0; start < ids.size(); start += kObserveBatch) {
    const std::size_t rows = std::min(kObserveBatch, ids.size() - start);
    placement_.table().observe(position_.epoch, std::span(ids).subspan(start, rows),
                               subrange(whole, start, rows));
  }
  double loss = 0, correct = 0;
  for (const float value : whole.loss) loss += double{value};
  for (const float value : whole.correct) correct += double{value};
  const auto visits = static_cast<double>(std::max<std::size_t>(1, ids.size()));
  train_loss_ = loss / visits;
  train_accuracy_ = 100 * correct / visits;
  non_finite_ = placement_.table().non_finite_visits() - bad_before;
  if (non_finite_ > 0 && is_writer() && observer_.note) {
    observer_.note(
        fmt::format("epoch {}: {} visits had a NaN or infinite signal; these examples rank as "
                    "the most important",
                    position_.epoch, non_finite_));
  }
}

Evaluation Trainer::evaluate_model(std::uint32_t epoch) {
  const auto started = Clock::now();
  report("evaluate");
  engine_.collapse_statistics();
  const bool is_paper = config_.eval.protocol == EvalConfig::Protocol::kPaper;
  const bool shared = config_.workers.batch_norm == WorkersConfig::BatchNorm::kShared;
  EvaluationSpec spec{.protocol = config_.eval.protocol,
                      .batch = config_.eval.batch,
                      .hosted_workers = shared ? 1 : engine_.hosted().count};
  if (is_paper) {
    // The training transform, drawn from a seed of its own so that it is not that of the examples.
    const Augmentation* augment =
        find_entry(kAugmentations, "augmentation", config_.data.augment).function;
    spec.augmentation = put_on_device(
        augment({.seed = ~config_.seed, .epoch = epoch, .examples = test_set_.count}), device_);
  }
  const Evaluation evaluation = evaluate(engine_.model(), test_images_, spec, communicator_);
  summary_.seconds_eval += seconds_since(started);
  return evaluation;
}

void Trainer::record_epoch(const std::optional<Evaluation>& evaluation, double seconds_train) {
  const std::uint32_t epoch = position_.epoch;
  if (evaluation) {
    last_evaluation_ = evaluation;
    if (!summary_.best_accuracy || evaluation->accuracy > *summary_.best_accuracy) {
      summary_.best_accuracy = evaluation->accuracy;
      summary_.best_epoch = epoch;
    }
    summary_.final_accuracy = evaluation->accuracy;
  }
  if (!is_writer()) return;
  nlohmann::ordered_json record = {{"epoch", epoch},
                                   {"step", position_.total_steps},
                                   {"learning_rate", last_rate_},
                                   {"train_loss", train_loss_},
                                   {"train_accuracy", train_accuracy_}};
  if (evaluation) {
    record["test_loss"] = evaluation->loss;
    record["test_accuracy"] = evaluation->accuracy;
  }
  record["non_finite"] = non_finite_;
  if (change_) {
    record["placement"] = {
        {"event", name_of(change_->kind)},       {"moved", change_->moved},
        {"messages", change_->messages},         {"imbalance_cv", change_->imbalance_cv},
        {"imbalance_ks", change_->imbalance_ks}, {"class_skew", change_->class_skew}};
  }
  record["seconds_train"] = seconds_train;
  record["seconds"] = seconds_since(epoch_started_);
  metrics_->append(record);
  events_->scalar("train/loss", epoch, train_loss_);
  events_->scalar("train/accuracy", epoch, train_accuracy_);
  events_->scalar("train/learning_rate", epoch, last_rate_);
  if (evaluation) {
    events_->scalar("test/loss", epoch, evaluation->loss);
    events_->scalar("test/accuracy", epoch, evaluation->accuracy);
  }
  if (change_) {
    events_->scalar("placement/moved", epoch, static_cast<double>(change_->moved));
    events_->scalar("placement/imbalance_cv", epoch, change_->imbalance_cv);
  }
  if (!observer_.epoch) return;
  observer_.epoch({.epoch = epoch,
                   .epochs = config_.epochs,
                   .train_loss = train_loss_,
                   .train_accuracy = train_accuracy_,
                   .test_loss = evaluation ? std::optional(evaluation->loss) : std::nullopt,
                   .test_accuracy = evaluation ? std::optional(evaluation->accuracy) : std::nullopt,
                   .seconds = seconds_since(epoch_started_),
                   .event = change_ ? std::string(name_of(change_->kind)) : ""});
}

void Trainer::report(std::string_view phase) const {
  if (!is_writer() || !observer_.progress) return;
  const double seconds = seconds_since(started_);
  const double speed = seconds > 0 ? static_cast<double>(examples_trained_) / seconds : 0;
  const double left = static_cast<double>(config_.epochs - position_.epoch) *
                          static_cast<double>(train_set_.count) -
                      (plan_ ? static_cast<double>(position_.step) / plan_->steps() *
                                   static_cast<double>(train_set_.count)
                             : 0);
  observer_.progress(
      {.phase = phase,
       .epoch = position_.epoch,
       .epochs = config_.epochs,
       .step = position_.step,
       .steps = plan_ ? plan_->steps() : 0,
       .examples_per_second = speed,
       .seconds_left = speed > 0 ? left / speed : 0,
       .loss = last_evaluation_ ? std::optional(train_loss_) : std::nullopt,
       .accuracy = last_evaluation_ ? std::optional(last_evaluation_->accuracy) : std::nullopt});
}

void Trainer::write_checkpoint() {
  report("checkpoint");
  summary_.bytes_network = earlier_bytes_ + communicator_.traffic().bytes;
  RunState state{.epoch = position_.epoch,
                 .step = position_.step,
                 .total_steps = position_.total_steps,
                 .config_hash = spec_.config_hash,
                 .summary = summary_,
                 .change = change_,
                 .seconds_total = summary_.seconds_total + seconds_since(started_)};
  if (position_.step > 0) gather_visits(state.visit_ids, state.visit_values);
  engine_.collapse_statistics();
  state.tensors = engine_.gather_state();
  if (is_writer()) {
    save_run_state(config_.output, state, placement_, engine_.model(), config_.checkpoint.keep);
  }
}

void Trainer::restore(const std::string& checkpoint) {
  RunState state = load_run_state(checkpoint, placement_, engine_.model());
  if (state.config_hash != spec_.config_hash) {
    throw ConfigError(
        fmt::format("{}: belongs to a run with another configuration; a run can only be "
                    "resumed with its own",
                    checkpoint));
  }
  engine_.restore_state([&](const std::string& name) {
    for (const auto& [tensor_name, tensor] : state.tensors) {
      if (tensor_name == name) return tensor;
    }
    throw DataError(fmt::format("{}: has no tensor '{}'", checkpoint, name));
  });
  position_ = {.epoch = state.epoch, .step = state.step, .total_steps = state.total_steps};
  earlier_ = {.ids = std::move(state.visit_ids), .values = std::move(state.visit_values)};
  const std::uint32_t processes = summary_.processes;
  summary_ = state.summary;
  summary_.processes = processes;
  earlier_bytes_ = summary_.bytes_network;
  summary_.seconds_total = state.seconds_total;
  change_ = std::move(state.change);
}

RunOutcome Trainer::finish(bool preempted) {
  summary_.seconds_total += seconds_since(started_);
  summary_.weights_sha256 = hash_weights(engine_.model());
  summary_.bytes_network = earlier_bytes_ + communicator_.traffic().bytes;
  if (is_writer() && !preempted) write_results();
  return {.summary = summary_, .preempted = preempted};
}

void Trainer::write_results() {
  const ImportanceTable& table = placement_.table();
  write_importance_csv(config_.output + "/importance.csv", table);
  write_scores(config_.output + "/importance.npy", "importance",
               table.importance(config_.importance.notion));
  if (config_.importance.history) write_history(config_.output + "/history.npy", table);
  write_summary(config_.output, summary_, {{"config_hash", spec_.config_hash}});
}

}  // namespace impart
