#include "impart/train/trainer.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "impart/placement/expected_visits.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/next_epoch.h"
#include "impart/train/output/run_output.h"
#include "impart/train/output/weights_hash.h"
#include "impart/train/own_model.h"
#include "impart/train/pretrained.h"
#include "impart/train/run_model.h"
#include "impart/train/run_notes.h"
#include "impart/train/stopping.h"

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

std::optional<placement::Partition> start_from_file(const config::RunConfig& config,
                                                    std::uint64_t examples) {
  const std::string& path = config.partition.start_file;
  if (path.empty()) return std::nullopt;
  return placement::read_start(path, examples, config.workers.count);
}

/// Process 0 speaks for all.
Note note_of(const RunObserver& observer, const comm::Communicator& communicator) {
  return communicator.rank() == 0 ? observer.note : nullptr;
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
                 RunData data, const std::string& checkpoint)
    : spec_(spec),
      config_(spec.config),
      communicator_(communicator),
      data_(std::move(data)),
      placement_(
          config::placement_spec(config_, spec.own),
          {.examples = data_.examples,
           .labels = data_.labels,
           .truth = data_.truth,
           .start = checkpoint.empty() ? start_from_file(config_, data_.examples) : std::nullopt}),
      engine_({.config = config_,
               .model = choose_model(spec, data_, communicator, note_of(observer, communicator),
                                     checkpoint.empty()),
               .feed = data_.train.get(),
               .own = spec.own,
               .note = note_of(observer, communicator)},
              communicator),
      selection_(config_, data_, placement_),
      visits_(engine_, *data_.train, communicator, observer),
      stores_(data_, engine_.clock()),
      evaluation_(config_, data_, engine_, communicator),
      costs_(communicator, config_.workers.count),
      results_(data_.task),
      teller_(spec, communicator, observer, data_.task, data_.examples) {
  engine_.clock().read();  // the run's own time begins with teller_
  summary_.epochs = config_.epochs;
  summary_.examples = data_.examples;
  summary_.validation_examples = data_.validation_examples;
  summary_.parameters = engine_.parameters();
  summary_.workers = config_.workers.count;
  summary_.processes = communicator.size();
  summary_.seed = config_.seed;
  if (!checkpoint.empty()) restore(checkpoint);
}

RunOutcome Trainer::run(const run::RunDirectory* directory, Clock::time_point began) {
  summary_.seconds_start += seconds_since(began) - teller_.seconds();
  teller_.open(directory, position_, describe_start());
  while (!is_over()) {
    epoch_.started = Clock::now();
    if (position_.step == 0) prepare_epoch();
    settle_stores();
    bool is_whole = false;
    try {
      is_whole = train_epoch();
    } catch (const Diverged& reason) {
      stores_.end_epoch();
      stores_.finish();
      note_bad_worker(reason);
      return finish(false);
    }
    if (!is_whole) {
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
  epoch_.change = placement_.prepare_epoch(position_.epoch, [&] {
    const PhaseTimer pass(engine_.clock(), &store::PhaseSeconds::importance_pass);
    settle_stores();
    return engine_.inference_losses(placement_.partition());
  });
}

void Trainer::prepare_epoch() {
  decide_partition();
  if (!epoch_.change) return;
  note_skewed_norms();
  move_examples();
  summary_.examples_moved += epoch_.change->moved;
  summary_.messages += epoch_.change->messages;
  teller_.change(position_.epoch, *epoch_.change, placement_.partition());
  epoch_.change->importance = std::vector<float>();  // gives its memory back, as {} would not
}

/// Said of the first such parts, once in a run.
void Trainer::note_skewed_norms() {
  const bool own_statistics = config_.workers.norm_group() == 1 && engine_.has_batch_norm();
  if (summary_.batch_norm_skew || !own_statistics) return;
  const auto parts = find_skew(placement_.partition(), data_.labels);
  if (!parts) return;
  summary_.batch_norm_skew = parts->skew;
  teller_.note(describe_skewed_norms(position_.epoch, *parts));
}

/// Where arrivals are visited last, they travel while the epoch's first steps are run.
void Trainer::move_examples() {
  if (stores_.settled()) report("exchange");
  stores_.move(epoch_.change->plan, config_.exchange.arrivals_last);
  if (stores_.settled()) epoch_.change->plan = {};
}

void Trainer::settle_stores() {
  if (!stores_.settled()) report("store");
  stores_.settle(placement_.partition());
}

void Trainer::select_visits() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::partition);
  selection_.begin(position_.epoch, summary_.visits);
  epoch_.plan = &selection_.plan();
}

/// Tells the store what all processes know: who will read what, and what may be read again.
void Trainer::plan_caches() {
  const auto& policy =
      find_entry(store::kCachePolicies, "cache policy", config_.store.cache_policy);
  if (policy.looks_at_visits) {
    const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::partition);
    epoch_.later_visits = placement::expected_visits(placement_, position_.epoch);
  }
  stores_.begin_epoch({.steps = epoch_.plan,
                       .first_step = position_.step,
                       .partition = &placement_.partition(),
                       .keeps_parts = placement::keeps_parts_after(
                           placement::schedule_spec(placement_.spec()), position_.epoch),
                       .expected_visits = epoch_.later_visits});
}

bool Trainer::train_epoch() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::step);
  select_visits();
  plan_caches();
  visits_.begin(*epoch_.plan, position_.step);
  engine_.begin_epoch(*epoch_.plan, position_.epoch, position_.step, selection_.weights());
  plan_next_epoch(config_, placement_, data_, communicator_, position_.epoch);
  report("train");
  while (position_.step < epoch_.plan->steps()) {
    epoch_.last_rate = selection_.learning_rate_at(position_.step);
    stores_.begin_step(position_.step);
    engine_.run_step(position_.step, epoch_.last_rate);
    if (config_.exchange.arrivals_last) stores_.advance();
    teller_.count_trained(epoch_.plan->examples_in(position_.step));
    ++position_.step;
    ++position_.total_steps;
    report("train");
    if (agree_to_stop() && position_.step < epoch_.plan->steps()) {
      stores_.end_epoch();
      return false;
    }
  }
  stores_.end_epoch();
  if (evaluation_.is_due(position_.epoch)) {
    epoch_.worker_scores = evaluation_.test_workers(position_.epoch);
  }
  engine_.end_epoch();
  stores_.finish();
  return true;
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

void Trainer::track_visits() {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::tracking);
  visits_.observe(placement_.table(), position_.epoch);
}

void Trainer::finish_epoch() {
  track_visits();
  refresh_hidden();
  measure_dissimilarity();
  std::optional<data::TestOutcome> outcome;
  if (evaluation_.is_due(position_.epoch)) {
    report("evaluate");
    outcome = evaluation_.test(position_.epoch);
  }
  teller_.check_directory();
  tell_epoch(outcome, count_costs());
  tell_steps();
  note_divergence();
  note_load();
  epoch_.change.reset();
  ++position_.epoch;
  position_.step = 0;
  if (must_stop_diverged()) return;  // the checkpoint before it is worth more than this one
  const bool due = config_.checkpoint.every.is_due(position_.epoch, config_.epochs);
  if (due || is_over() || stopping_) write_checkpoint();
}

/// A forward pass tells what has become of examples that the selection hid.
void Trainer::refresh_hidden() {
  if (!placement_.spec().selection.needs.refresh) return;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::refresh);
  report("refresh");
  visits_.refresh(selection_.to_refresh(), placement_.table(), position_.epoch);
}

void Trainer::measure_dissimilarity() {
  epoch_.dissimilarity.reset();
  if (!config_.importance.dissimilarity.is_due(position_.epoch + 1, config_.epochs)) return;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::dissimilarity);
  report("dissimilarity");
  epoch_.dissimilarity = engine_.dissimilarity(placement_.partition(), position_.epoch);
}

/// The epoch is lost: it has neither metrics nor a checkpoint.
void Trainer::note_bad_worker(const Diverged& reason) {
  summary_.diverged_at = position_.epoch;
  diverged_ = fmt::format("diverged: {}", reason.what());
  note_seconds();
}

/// All processes know the same losses, and so decide the same.
void Trainer::note_divergence() {
  const double loss = visits_.facts().train_loss;
  if (std::isfinite(loss)) summary_.diverged_at.reset();
  if (std::isfinite(loss) || summary_.diverged_at) return;
  summary_.diverged_at = position_.epoch;
  teller_.note(describe_divergence(position_.epoch, loss));
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
                                       .seconds = summary_.seconds_total + teller_.seconds()};
}

/// Times that were measured under different load cannot be compared: whoever reads them must know.
void Trainer::note_load() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return;
  summary_.load_average += (load - summary_.load_average) / (position_.epoch + 1);
}

void Trainer::report(std::string_view phase) const {
  teller_.report(phase, position_, epoch_.plan ? epoch_.plan->steps() : 0,
                 [this] { return engine_.running_loss(); });
}

RunOutcome Trainer::finish(bool preempted) {
  summary_.weights_sha256 = hash_weights(engine_.model());
  if (!preempted) show_images();
  teller_.check_directory();
  note_seconds();
  summary_.seconds_total += teller_.seconds();
  if (teller_.writes() && !preempted) {
    write_hidden(config_.output, selection_.times_hidden());
    write_results(spec_, data_, placement_, engine_.model(), summary_);
  }
  RunOutcome outcome{.summary = summary_, .task = results_.task(), .preempted = preempted};
  if (!diverged_.empty()) {
    outcome.failure = diverged_;
  } else if (must_stop_diverged() && !preempted) {
    outcome.failure = fmt::format(
        "diverged: the training loss is not finite since epoch {}; a smaller optimizer.lr may "
        "help, train.stop_on_nan=false goes on nevertheless",
        *summary_.diverged_at + 1);
  }
  return outcome;
}

}  // namespace impart::train
