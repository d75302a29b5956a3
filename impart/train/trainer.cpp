#include "impart/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/run/gather_costs.h"
#include "impart/train/hardest_texts.h"
#include "impart/train/learning_rate.h"
#include "impart/train/own_model.h"
#include "impart/train/run_model.h"
#include "impart/train/run_state.h"
#include "impart/train/weights_hash.h"

namespace impart::train {
namespace {

constexpr std::size_t kObserveBatch = 4096;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::shared_ptr<models::Classifier> choose_model(const RunSpec& spec, const RunData& data,
                                                 comm::Communicator& communicator) {
  if (!spec.own_model) return make_run_model(spec.config, data);
  prepare_own_model(*spec.own_model, data.train->device(), communicator);
  return spec.own_model;
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
                 RunData data)
    : spec_(spec),
      config_(spec.config),
      communicator_(communicator),
      observer_(observer),
      data_(std::move(data)),
      placement_(config::placement_spec(config_, spec.own),
                 {.examples = data_.examples, .labels = data_.labels, .truth = data_.truth}),
      engine_({.config = config_,
               .model = choose_model(spec, data_, communicator),
               .feed = data_.train.get(),
               .own = spec.own},
              communicator) {
  summary_.epochs = config_.epochs;
  summary_.examples = data_.examples;
  summary_.workers = config_.workers.count;
  summary_.processes = communicator.size();
  summary_.seed = config_.seed;
  if (DeviceEvaluation::can_run(*data_.test, communicator)) {
    device_evaluation_ = std::make_unique<DeviceEvaluation>(
        engine_.model(), *data_.test, config_.precision == config::RunConfig::Precision::kBf16);
  }
}

RunOutcome Trainer::run() {
  if (is_writer()) {
    recorder_ = std::make_unique<run::RunRecorder>(
        run::RunRecorderSpec{.folder = config_.output,
                             .next_epoch = position_.epoch,
                             .notion = config_.importance.notion,
                             .save_partitions = config_.partition.save});
  }
  while (position_.epoch < config_.epochs) {
    epoch_started_ = Clock::now();
    if (position_.step == 0) prepare_epoch();
    settle_store();
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
    settle_store();
    auto losses = engine_.inference_losses(placement_.partition());
    seconds_losses = seconds_since(losses_started);
    return losses;
  });
  if (!change_) return;
  const double seconds_decision = seconds_since(started) - seconds_losses;
  seconds_.importance_pass += seconds_losses;
  seconds_.partition += seconds_decision;
  move_examples();
  const bool is_exchange = change_->kind == placement::ScheduleEvent::Kind::kExchange;
  (is_exchange ? summary_.seconds_exchange : summary_.seconds_partition) += seconds_since(started);
  summary_.seconds_importance_pass += seconds_losses;
  summary_.examples_moved += change_->moved;
  summary_.messages += change_->messages;
  if (recorder_) recorder_->record_change(position_.epoch, *change_, placement_.partition());
}

/// Lets the store follow the partition. Where arrivals are visited last, they travel while the
/// epoch's first steps are run.
void Trainer::move_examples() {
  if (!data_.train_store || !settled_) return;
  const auto started = Clock::now();
  report("exchange");
  data_.train_store->start_moves(change_->plan);
  if (!config_.exchange.arrivals_last) data_.train_store->finish_moves();
  change_->plan = {};
  seconds_.exchange += seconds_since(started);
}

/// The first time, and after a restart, the store may hold anything.
void Trainer::settle_store() {
  if (!data_.train_store || settled_) return;
  const auto started = Clock::now();
  report("store");
  data_.train_store->settle(placement_.partition());
  if (data_.test_store) data_.test_store->settle({{}, config_.workers.count});
  settled_ = true;
  seconds_.exchange += seconds_since(started);
}

double Trainer::learning_rate_now() const {
  const double progress = position_.epoch + static_cast<double>(position_.step) / plan_->steps();
  return learning_rate(config_.optimizer, progress, config_.epochs, plan_->steps());
}

bool Trainer::train_epoch() {
  plan_ = std::make_unique<placement::StepPlan>(placement_.order(position_.epoch),
                                                config_.workers.batch, config_.workers.uneven);
  first_step_ = position_.step;
  engine_.begin_epoch(*plan_, position_.epoch, first_step_);
  while (position_.step < plan_->steps()) {
    last_rate_ = learning_rate_now();
    engine_.run_step(position_.step, last_rate_);
    if (data_.train_store) data_.train_store->advance_moves();
    examples_trained_ += plan_->examples_in(position_.step);
    ++position_.step;
    ++position_.total_steps;
    report("train");
    if (agree_to_stop() && position_.step < plan_->steps()) return false;
  }
  engine_.end_epoch();
  if (data_.train_store) data_.train_store->finish_moves();
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
  seconds_.tracking += seconds_since(tracking_started);
  summary_.seconds_tracking += seconds_since(tracking_started);
  const std::uint32_t epoch = position_.epoch;
  const bool is_last = epoch + 1 == config_.epochs;
  std::optional<Evaluation> evaluation;
  if (is_last || (epoch + 1) % config_.eval.every == 0) evaluation = evaluate_model(epoch);
  record_costs();
  record_epoch(evaluation, seconds_train);
  change_.reset();
  skipped_.clear();
  skipped_count_ = 0;
  ++position_.epoch;
  position_.step = 0;
  const bool due = config_.checkpoint.every > 0 && position_.epoch % config_.checkpoint.every == 0;
  if (due || is_last || stopping_) write_checkpoint();
}

run::Visits Trainer::gather_epoch_visits() {
  gather_skipped();
  const torch::Tensor mine = engine_.collected_signals();
  return run::gather_visits(
      {.plan = plan_.get(),
       .first_step = first_step_,
       .last_step = position_.step,
       .signals = static_cast<std::size_t>(mine.size(0)),
       .mine = {mine.data_ptr<float>(), static_cast<std::size_t>(mine.numel())},
       .earlier = &earlier_,
       .skipped = &skipped_},
      communicator_);
}

/// Examples that a process could not read are unobserved on all of them.
void Trainer::gather_skipped() {
  const auto skipped = data_.train->take_skipped();
  std::array<std::int64_t, 1> count = {static_cast<std::int64_t>(skipped.size())};
  communicator_.all_reduce_sum(std::span<std::int64_t>(count));
  if (count[0] == 0) return;
  std::vector<std::int64_t> flags(data_.examples);
  for (const data::SkippedExample& example : skipped) {
    flags[index(example.id)] = 1;
    if (observer_.note) observer_.note("left out: " + example.reason);
  }
  communicator_.all_reduce_max(std::span<std::int64_t>(flags));
  skipped_.resize(data_.examples);
  for (std::size_t id = 0; id < flags.size(); ++id) skipped_[id] = skipped_[id] || flags[id] != 0;
  skipped_count_ = static_cast<std::uint64_t>(std::count(skipped_.begin(), skipped_.end(), true));
}

void Trainer::observe_epoch() {
  const auto [ids, values] = gather_epoch_visits();
  earlier_ = {};
  const std::uint64_t bad_before = placement_.table().non_finite_visits();
  const importance::Signals whole = engine_.signals().view(values, ids.size());
  for (std::size_t start = 0; start < ids.size(); start += kObserveBatch) {
    const std::size_t rows = std::min(kObserveBatch, ids.size() - start);
    placement_.table().observe(position_.epoch, std::span(ids).subspan(start, rows),
                               importance::subrange(whole, start, rows));
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
                    position_.epoch + 1, non_finite_));
  }
}

Evaluation Trainer::evaluate_model(std::uint32_t epoch) {
  const auto started = Clock::now();
  report("evaluate");
  engine_.collapse_statistics();
  const bool shared = config_.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
  const EvaluationSpec spec{.protocol = config_.eval.protocol,
                            .batch = config_.eval.batch,
                            .hosted_workers = shared ? 1 : engine_.hosted().count,
                            .epoch = epoch,
                            .reader = WorkerId{engine_.hosted().first}};
  const Evaluation evaluation = device_evaluation_
                                    ? device_evaluation_->evaluate(spec)
                                    : evaluate(engine_.model(), *data_.test, spec, communicator_);
  seconds_.evaluation += seconds_since(started);
  summary_.seconds_eval += seconds_since(started);
  return evaluation;
}

std::optional<double> Trainer::bits_per_byte(const Evaluation& evaluation) const {
  if (data_.test_bytes == 0) return std::nullopt;
  const double nats = evaluation.loss * static_cast<double>(evaluation.predictions);
  return nats / std::numbers::ln2 / static_cast<double>(data_.test_bytes);
}

/// Best and final results: of language models perplexity, of others accuracy.
void Trainer::note_result(const Evaluation& evaluation, std::uint32_t epoch) {
  const double perplexity = std::exp(evaluation.loss);
  const auto bits = bits_per_byte(evaluation);
  // A run that starts with NaN may still find its way.
  const bool has_best = summary_.best_perplexity && !std::isnan(*summary_.best_perplexity);
  const bool is_best = is_language() ? !has_best || perplexity < *summary_.best_perplexity
                                     : !(summary_.best_accuracy >= evaluation.accuracy);
  if (is_best) summary_.best_epoch = epoch;
  if (!is_language()) {
    if (is_best) summary_.best_accuracy = evaluation.accuracy;
    summary_.final_accuracy = evaluation.accuracy;
    return;
  }
  if (is_best) {
    summary_.best_perplexity = perplexity;
    summary_.best_bits_per_byte = bits;
  }
  summary_.final_perplexity = perplexity;
  summary_.final_bits_per_byte = bits;
}

void Trainer::record_epoch(const std::optional<Evaluation>& evaluation, double seconds_train) {
  const std::uint32_t epoch = position_.epoch;
  if (evaluation) {
    last_evaluation_ = evaluation;
    note_result(*evaluation, epoch);
  }
  run::EpochRecord result{.epoch = epoch,
                          .step = position_.total_steps,
                          .learning_rate = last_rate_,
                          .train_loss = train_loss_,
                          .train_accuracy = train_accuracy_,
                          .non_finite = non_finite_,
                          .skipped = skipped_count_,
                          .change = change_ ? &*change_ : nullptr,
                          .seconds_train = seconds_train,
                          .seconds = seconds_since(epoch_started_)};
  if (evaluation) {
    result.test_loss = evaluation->loss;
    result.test_accuracy = evaluation->accuracy;
    if (is_language()) result.test_perplexity = std::exp(evaluation->loss);
    result.test_bits_per_byte = bits_per_byte(*evaluation);
  }
  if (recorder_) recorder_->record_epoch(result);
  if (!is_writer() || !observer_.epoch) return;
  observer_.epoch({.epoch = epoch,
                   .epochs = config_.epochs,
                   .train_loss = train_loss_,
                   .train_accuracy = train_accuracy_,
                   .test_loss = result.test_loss,
                   .test_accuracy = result.test_accuracy,
                   .test_perplexity = result.test_perplexity,
                   .test_bits_per_byte = result.test_bits_per_byte,
                   .seconds = result.seconds,
                   .event = change_ ? std::string(run::name_of(change_->kind)) : ""});
}

/// What the hosted workers' storage cost in this epoch.
std::vector<store::StorageCost> Trainer::take_storage_costs() {
  if (data_.train_store) return data_.train_store->take_costs();
  // Every process read all of the data set once, and holds it.
  std::vector<store::StorageCost> costs(engine_.hosted().count);
  for (store::StorageCost& cost : costs) {
    cost.bytes_source = std::exchange(data_.loaded_bytes, 0);
  }
  return costs;
}

void Trainer::record_costs() {
  const comm::Traffic& sent = communicator_.traffic();
  run::EpochCosts mine{.epoch = position_.epoch,
                       .workers = take_storage_costs(),
                       .process = {.bytes_sent = sent.bytes - counted_.bytes,
                                   .sends = sent.messages - counted_.messages,
                                   .seconds = std::exchange(seconds_, {})}};
  mine.process.seconds += std::exchange(engine_.seconds(), {});
  counted_ = sent;
  run::LedgerEpoch epoch = run::gather_costs(mine, config_.workers.count, communicator_);
  epoch.skipped = skipped_count_;
  const store::StorageCost total = run::total_over_workers(epoch);
  summary_.bytes_disk += total.bytes_source + total.bytes_local;
  summary_.peak_stored_examples = std::max(summary_.peak_stored_examples, total.peak_stored);
  for (const run::ProcessCost& process : epoch.processes)
    summary_.bytes_network += process.bytes_sent;
  if (recorder_) recorder_->record_costs(epoch);
}

void Trainer::report(std::string_view phase) const {
  if (!is_writer() || !observer_.progress) return;
  const double seconds = seconds_since(started_);
  const double speed = seconds > 0 ? static_cast<double>(examples_trained_) / seconds : 0;
  const double left =
      static_cast<double>(config_.epochs - position_.epoch) * static_cast<double>(data_.examples) -
      (plan_ ? static_cast<double>(position_.step) / plan_->steps() *
                   static_cast<double>(data_.examples)
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
       .accuracy = last_evaluation_ ? std::optional(last_evaluation_->accuracy) : std::nullopt,
       .perplexity = last_evaluation_ && is_language()
                         ? std::optional(std::exp(last_evaluation_->loss))
                         : std::nullopt});
}

void Trainer::write_checkpoint() {
  const auto started = Clock::now();
  report("checkpoint");
  if (data_.train_store) data_.train_store->finish_moves();
  RunState state{.epoch = position_.epoch,
                 .step = position_.step,
                 .total_steps = position_.total_steps,
                 .config_hash = spec_.config_hash,
                 .summary = summary_,
                 .change = change_,
                 .seconds_total = summary_.seconds_total + seconds_since(started_)};
  if (position_.step > 0) {
    run::Visits visits = gather_epoch_visits();
    state.visit_ids = std::move(visits.ids);
    state.visit_values = std::move(visits.values);
  }
  engine_.collapse_statistics();
  state.tensors = engine_.gather_state();
  if (is_writer()) {
    save_run_state(config_.output, state, placement_, engine_.model(), config_.checkpoint.keep);
  }
  seconds_.checkpoint += seconds_since(started);
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
  summary_.seconds_total = state.seconds_total;
  change_ = std::move(state.change);
}

RunOutcome Trainer::finish(bool preempted) {
  summary_.seconds_total += seconds_since(started_);
  summary_.weights_sha256 = hash_weights(engine_.model());
  if (is_writer() && !preempted) write_results();
  return {.summary = summary_, .preempted = preempted};
}

void Trainer::write_results() {
  const importance::ImportanceTable& table = placement_.table();
  importance::write_importance_csv(config_.output + "/importance.csv", table);
  write_scores(config_.output + "/importance.npy", "importance",
               table.importance(config_.importance.notion));
  if (config_.importance.history) importance::write_history(config_.output + "/history.npy", table);
  if (data_.text && config_.importance.texts > 0) {
    auto texts = choose_texts(table, placement::tracked_notions(placement_.spec()), *data_.text,
                              config_.importance.texts);
    if (config_.importance.token_losses) add_token_losses(engine_.model(), *data_.text, texts);
    run::write_texts(config_.output + "/texts.jsonl", texts);
  }
  const auto sizes = placement_.partition().sizes();
  summary_.config_hash = spec_.config_hash;
  summary_.largest_part = *std::max_element(sizes.begin(), sizes.end());
  summary_.payload_bytes_total = data_.payload_bytes;
  run::write_summary(config_.output, summary_);
}

}  // namespace impart::train
