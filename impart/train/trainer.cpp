#include "impart/train/trainer.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/hardest_images.h"
#include "impart/train/own_model.h"
#include "impart/train/pretrained.h"
#include "impart/train/run_model.h"
#include "impart/train/run_output.h"
#include "impart/train/run_state.h"
#include "impart/train/stopping.h"
#include "impart/train/weights_hash.h"

namespace impart::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The model before its first step; what a checkpoint replaces anyway is only drawn.
std::shared_ptr<models::Classifier> choose_model(const RunSpec& spec, const RunData& data,
                                                 comm::Communicator& communicator, const Note& note,
                                                 bool from_the_start) {
  if (spec.own_model) {
    prepare_own_model(*spec.own_model, data.train->device(), communicator);
    return spec.own_model;
  }
  auto model = make_initial_model(data.card, seed_of(spec.config, &config::RunConfig::seed_init),
                                  data.train->device());
  const std::string& weights = spec.config.model.from;
  if (from_the_start && !weights.empty()) load_pretrained(weights, *model, note);
  return model;
}

/// Process 0 speaks for all.
Note note_of(const RunObserver& observer, const comm::Communicator& communicator) {
  return communicator.rank() == 0 ? observer.note : nullptr;
}

/// What a run is told apart by.
std::vector<run::RunSetting> settings_of(const config::RunConfig& config) {
  std::vector<run::RunSetting> settings;
  for (const config::ConfigKey& key : config::make_schema()) {
    if (key.changes_result)
      settings.emplace_back(key.path(), fmt::format("{}", fmt::join(key.get(config), ",")));
  }
  return settings;
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
                 RunData data, const std::string& checkpoint)
    : spec_(spec),
      config_(spec.config),
      communicator_(communicator),
      observer_(observer),
      data_(std::move(data)),
      placement_(config::placement_spec(config_, spec.own),
                 {.examples = data_.examples, .labels = data_.labels, .truth = data_.truth}),
      engine_({.config = config_,
               .model = choose_model(spec, data_, communicator, note_of(observer, communicator),
                                     checkpoint.empty()),
               .feed = data_.train.get(),
               .own = spec.own,
               .note = note_of(observer, communicator)},
              communicator),
      selection_(config_, data_, placement_),
      visits_(engine_, *data_.train, communicator, observer),
      costs_(communicator, config_.workers.count),
      results_(data_.task),
      progress_(observer, config_.epochs, data_.examples) {
  engine_.clock().read();  // the run's own time begins with progress_
  summary_.epochs = config_.epochs;
  summary_.examples = data_.examples;
  summary_.validation_examples = data_.validation_examples;
  summary_.workers = config_.workers.count;
  summary_.processes = communicator.size();
  summary_.seed = config_.seed;
  if (DeviceEvaluation::can_run(*data_.test, communicator)) {
    device_evaluation_ = std::make_unique<DeviceEvaluation>(
        engine_.model(), *data_.test, config_.precision == config::RunConfig::Precision::kBf16);
  }
  if (!checkpoint.empty()) restore(checkpoint);
}

RunOutcome Trainer::run(const run::RunDirectory* directory, Clock::time_point began) {
  directory_ = directory;
  summary_.seconds_start += seconds_since(began) - progress_.seconds();
  if (is_writer()) {
    if (observer_.start) observer_.start(describe_start());
    recorder_ = std::make_unique<run::RunRecorder>(
        run::RunRecorderSpec{.folder = config_.output,
                             .next_epoch = position_.epoch,
                             .notion = config_.importance.notion,
                             .save_partitions = config_.partition.save,
                             .next_step = position_.total_steps,
                             .settings = settings_of(config_),
                             .metrics = {fmt::format("test/{}", data_.task.metric), "train/loss"}});
  }
  while (!is_over()) {
    epoch_started_ = Clock::now();
    if (position_.step == 0) prepare_epoch();
    settle_stores();
    if (!train_epoch()) {
      note_seconds();
      write_checkpoint();
      return finish(true);
    }
    finish_epoch();
    if (must_stop_diverged()) return finish(false);
    if (stopping_ && !is_over()) return finish(true);
  }
  return finish(false);
}

RunStart Trainer::describe_start() const {
  return {.epoch = position_.epoch,
          .epochs = config_.epochs,
          .examples = data_.examples,
          .workers = config_.workers.count,
          .processes = communicator_.size(),
          .device = data_.train->device().str()};
}

void Trainer::decide_partition() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::partition);
  report("repartition");
  change_ = placement_.prepare_epoch(position_.epoch, [&] {
    const PhaseTimer pass(engine_.clock(), &store::PhaseSeconds::importance_pass);
    settle_stores();
    return engine_.inference_losses(placement_.partition());
  });
}

void Trainer::prepare_epoch() {
  decide_partition();
  if (!change_) return;
  move_examples();
  summary_.examples_moved += change_->moved;
  summary_.messages += change_->messages;
  if (recorder_) recorder_->record_change(position_.epoch, *change_, placement_.partition());
  if (!is_writer() || !observer_.partition) return;
  observer_.partition({.epoch = position_.epoch,
                       .event = std::string(run::name_of(change_->kind)),
                       .moved = change_->moved,
                       .messages = change_->messages});
}

/// Lets the store follow the partition. Where arrivals are visited last, they travel while the
/// epoch's first steps are run.
void Trainer::move_examples() {
  if (!settled_) return;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::exchange);
  report("exchange");
  data_.train_store->start_moves(change_->plan);
  if (!config_.exchange.arrivals_last) data_.train_store->finish_moves();
  change_->plan = {};
}

/// The first time, and after a restart, the store may hold anything.
void Trainer::settle_stores() {
  if (settled_) return;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::exchange);
  report("store");
  data_.train_store->settle(placement_.partition());
  data_.test_store->settle({{}, config_.workers.count});
  settled_ = true;
}

void Trainer::select_visits() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::partition);
  selection_.begin(position_.epoch, summary_.visits);
  plan_ = &selection_.plan();
}

bool Trainer::train_epoch() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::step);
  select_visits();
  visits_.begin(*plan_, position_.step);
  engine_.begin_epoch(*plan_, position_.epoch, position_.step, selection_.weights());
  report("train");
  while (position_.step < plan_->steps()) {
    last_rate_ = selection_.learning_rate_at(position_.step);
    engine_.run_step(position_.step, last_rate_);
    if (config_.exchange.arrivals_last) advance_moves();
    progress_.count_trained(plan_->examples_in(position_.step));
    ++position_.step;
    ++position_.total_steps;
    report("train");
    if (agree_to_stop() && position_.step < plan_->steps()) return false;
  }
  engine_.end_epoch();
  finish_moves();
  return true;
}

void Trainer::advance_moves() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::exchange);
  data_.train_store->advance_moves();
}

void Trainer::finish_moves() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::exchange);
  data_.train_store->finish_moves();
}

/// A signal reaches the processes at different steps; all must stop after the same one.
bool Trainer::agree_to_stop() {
  const bool requested = is_true_anywhere(spec_.stop_requested && spec_.stop_requested());
  stopping_ = stopping_ || requested;
  return stopping_;
}

/// Collective: every process calls it, in the same order.
bool Trainer::is_true_anywhere(bool here) {
  std::array<std::int64_t, 1> somewhere = {here ? 1 : 0};
  if (communicator_.size() > 1) communicator_.all_reduce_max(std::span<std::int64_t>(somewhere));
  return somewhere[0] != 0;
}

/// After so many epochs of the run.
bool Trainer::is_due(const config::EpochInterval& every, std::uint32_t epochs) const {
  const std::uint32_t interval = every.of(config_.epochs);
  return interval > 0 && epochs % interval == 0;
}

void Trainer::track_visits() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::tracking);
  visits_.observe(placement_.table(), position_.epoch);
}

void Trainer::finish_epoch() {
  track_visits();
  refresh_hidden();
  const bool is_last = position_.epoch + 1 == config_.epochs;
  std::optional<data::TestOutcome> outcome;
  if (is_last || is_due(config_.eval.every, position_.epoch + 1)) outcome = evaluate_model();
  check_directory();
  record_epoch(outcome, record_costs());
  record_steps();
  note_divergence();
  note_load();
  change_.reset();
  ++position_.epoch;
  position_.step = 0;
  if (must_stop_diverged()) return;  // the checkpoint before it is worth more than this one
  const bool due = is_due(config_.checkpoint.every, position_.epoch);
  if (due || is_over() || stopping_) write_checkpoint();
}

/// A forward pass tells what has become of examples that the selection hid.
void Trainer::refresh_hidden() {
  if (!placement_.spec().selection.needs.refresh) return;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::refresh);
  report("refresh");
  visits_.refresh(selection_.to_refresh(), placement_.table(), position_.epoch);
}

data::TestOutcome Trainer::evaluate_model() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::evaluation);
  report("evaluate");
  engine_.collapse_statistics();
  const bool shared = config_.workers.batch_norm == config::WorkersConfig::BatchNorm::kShared;
  const EvaluationSpec spec{.protocol = config_.eval.protocol,
                            .batch = config_.eval.batch,
                            .hosted_workers = shared ? 1 : engine_.hosted().count,
                            .epoch = position_.epoch,
                            .mirror = config_.eval.mirror,
                            .reader = WorkerId{engine_.hosted().first}};
  data::TestOutcome outcome = device_evaluation_
                                  ? device_evaluation_->evaluate(spec)
                                  : evaluate(engine_.model(), *data_.test, spec, communicator_);
  outcome.bytes = data_.test_bytes;
  return outcome;
}

void Trainer::note_seconds() {
  costs_.add_seconds(engine_.clock().read(), change_ ? std::optional(change_->kind) : std::nullopt,
                     summary_);
}

Trainer::EpochSeconds Trainer::record_costs() {
  note_seconds();
  const double seconds = seconds_since(epoch_started_);
  run::LedgerEpoch line =
      costs_.end_epoch(position_.epoch, *data_.train_store, visits_.facts().skipped, summary_);
  line.visits = selection_.end(summary_);
  if (recorder_) recorder_->record_costs(line);
  return {.training = line.processes[communicator_.rank()].seconds.training(), .all = seconds};
}

/// Before anything is written: a folder that is gone would be made anew, and seem whole.
void Trainer::check_directory() const {
  if (directory_ != nullptr) directory_->check_in_place();
}

void Trainer::record_epoch(const std::optional<data::TestOutcome>& outcome,
                           const EpochSeconds& seconds) {
  const VisitFacts& facts = visits_.facts();
  run::EpochRecord result{.epoch = position_.epoch,
                          .step = position_.total_steps,
                          .learning_rate = last_rate_,
                          .train_loss = facts.train_loss,
                          .train_accuracy = facts.train_accuracy,
                          .non_finite = facts.non_finite,
                          .skipped = facts.skipped,
                          .change = change_ ? &*change_ : nullptr,
                          .seconds_train = seconds.training,
                          .seconds = seconds.all};
  if (outcome) {
    results_.note(*outcome, position_.epoch, summary_);
    results_.add_to(result, *outcome);
    note_stop(*outcome);
    result.stopped_at = summary_.stopped_at;
  }
  progress_.set_last(results_.task(), results_.last_score());
  if (recorder_) recorder_->record_epoch(result);
  if (!is_writer() || !observer_.epoch) return;
  observer_.epoch({.epoch = position_.epoch,
                   .epochs = config_.epochs,
                   .train_loss = facts.train_loss,
                   .train_accuracy = facts.train_accuracy,
                   .test_loss = result.test_loss,
                   .test_accuracy = result.test_accuracy,
                   .task = results_.task(),
                   .score = outcome ? results_.last_score() : std::nullopt,
                   .learning_rate = last_rate_,
                   .seconds = result.seconds,
                   .seconds_train = seconds.training,
                   .event = change_ ? std::string(run::name_of(change_->kind)) : ""});
}

void Trainer::record_steps() {
  if (!recorder_) return;
  const VisitFacts& facts = visits_.facts();
  std::vector<run::StepRecord> steps;
  for (const double loss : facts.step_losses) {
    const auto step = facts.first_step + static_cast<std::uint32_t>(steps.size());
    steps.push_back({.loss = loss, .learning_rate = selection_.learning_rate_at(step)});
  }
  recorder_->record_steps(position_.total_steps - steps.size(), steps);
}

/// All processes know the same losses, and so decide the same.
void Trainer::note_divergence() {
  const double loss = visits_.facts().train_loss;
  if (std::isfinite(loss)) summary_.diverged_at.reset();
  if (std::isfinite(loss) || summary_.diverged_at) return;
  summary_.diverged_at = position_.epoch;
  if (!is_writer() || !observer_.note) return;
  observer_.note(
      fmt::format("epoch {}: the training loss is {}: diverged", position_.epoch + 1, loss));
}

/// Ends the run here if this evaluation says so.
void Trainer::note_stop(const data::TestOutcome& outcome) {
  const config::StopConfig& stop = config_.stop;
  if (!stop.at && stop.patience == 0) return;
  const bool reached = is_true_anywhere(reaches(stop, results_.task(), outcome));
  const bool is_last = position_.epoch + 1 == config_.epochs;
  const std::uint32_t since = evaluations_between(summary_.best_epoch, position_.epoch,
                                                  config_.eval.every.of(config_.epochs));
  const bool out_of_patience = stop.patience > 0 && since >= stop.patience && !is_last;
  if (!reached && !is_true_anywhere(out_of_patience)) return;
  summary_.epochs = position_.epoch + 1;
  summary_.stopped_at = run::StoppedAt{.reached = reached,
                                       .epoch = position_.epoch,
                                       .visits = summary_.visits,
                                       .steps = position_.total_steps,
                                       .seconds = summary_.seconds_total + progress_.seconds()};
}

/// Times that were measured under different load cannot be compared: whoever reads them must know.
void Trainer::note_load() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return;
  summary_.load_average += (load - summary_.load_average) / (position_.epoch + 1);
}

void Trainer::report(std::string_view phase) const {
  communicator_.set_activity({.phase = phase, .epoch = position_.epoch, .step = position_.step});
  if (!is_writer()) return;
  progress_.report(phase, position_, plan_ ? plan_->steps() : 0,
                   [this] { return engine_.running_loss(); });
}

void Trainer::write_checkpoint() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::checkpoint);
  report("checkpoint");
  data_.train_store->finish_moves();
  RunState state{.epoch = position_.epoch,
                 .step = position_.step,
                 .total_steps = position_.total_steps,
                 .config_hash = spec_.config_hash,
                 .summary = summary_,
                 .change = change_,
                 .seconds_total = summary_.seconds_total + progress_.seconds(),
                 .threads = torch::get_num_threads()};
  if (position_.step > 0) {
    run::Visits visits = visits_.gather(position_.step);
    state.visit_ids = std::move(visits.ids);
    state.visit_values = std::move(visits.values);
  }
  engine_.collapse_statistics();
  state.tensors = engine_.gather_state();
  check_directory();
  if (is_writer()) {
    save_run_state(config_.output, state,
                   {.placement = placement_,
                    .model = engine_.model(),
                    .card = card_now(),
                    .tokenizer = data_.text ? data_.text->tokenizer : nullptr},
                   config_.checkpoint.keep);
  }
}

trained::ModelCard Trainer::card_now() const {
  trained::ModelCard card = data_.card;
  card.is_own = spec_.own_model != nullptr;
  card.epochs = position_.epoch;
  return card;
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
  visits_.restore({.ids = std::move(state.visit_ids), .values = std::move(state.visit_values)});
  const std::uint32_t processes = summary_.processes;
  summary_ = state.summary;
  summary_.processes = processes;
  summary_.seconds_total = state.seconds_total;
  change_ = std::move(state.change);
  note_threads(state.threads);
}

/// With reduce: exact there is always one.
void Trainer::note_threads(int before) const {
  const int now = torch::get_num_threads();
  const bool matters = before != 0 && before != now && data_.train->device().is_cpu();
  if (!matters || communicator_.rank() != 0 || !observer_.note) return;
  observer_.note(fmt::format(
      "the run was computed with threads={} and goes on with {}: its last bits will not "
      "be those of an unbroken run",
      before, now));
}

/// Leaves pictures of the hardest and easiest examples, where these are pictures.
void Trainer::show_images() {
  // Tensors of a program's own may be normalised pixels or anything else.
  const auto& images = data_.card.images;
  const bool is_picture = images && (images->channels == 1 || images->channels == 3) &&
                          images->mean.size() == images->channels;
  if (!is_picture || data_.classes == 0 || config_.importance.images == 0) return;
  settle_stores();
  engine_.collapse_statistics();
  const std::vector<run::ImageRecord> shown = add_pictures(
      choose_images(placement_, data_, config_.importance.images),
      {.model = engine_.model(), .data = data_, .hosted = engine_.hosted()}, communicator_);
  check_directory();
  if (!is_writer()) return;
  run::write_images(config_.output + "/images.jsonl", shown);
  recorder_->record_images(summary_.epochs - 1, shown);
}

RunOutcome Trainer::finish(bool preempted) {
  summary_.weights_sha256 = hash_weights(engine_.model());
  if (!preempted) show_images();
  check_directory();
  note_seconds();
  summary_.seconds_total += progress_.seconds();
  if (is_writer() && !preempted) {
    write_results(spec_, data_, placement_, engine_.model(), summary_);
  }
  RunOutcome outcome{.summary = summary_, .task = results_.task(), .preempted = preempted};
  if (must_stop_diverged() && !preempted) {
    outcome.failure = fmt::format(
        "diverged: the training loss is not finite since epoch {}; a smaller optimizer.lr may "
        "help, train.stop_on_nan=false goes on nevertheless",
        *summary_.diverged_at + 1);
  }
  return outcome;
}

}  // namespace impart::train
