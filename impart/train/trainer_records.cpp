// What a run leaves behind while it goes on: records of its epochs, checkpoints, pictures.

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/output/hardest_images.h"
#include "impart/train/run_notes.h"
#include "impart/train/run_state.h"
#include "impart/train/trainer.h"

namespace impart::train {

void Trainer::note_seconds() {
  costs_.add_seconds(engine_.clock().read(), change_ ? std::optional(change_->kind) : std::nullopt,
                     summary_);
}

Trainer::EpochSeconds Trainer::record_costs() {
  note_seconds();
  const std::chrono::duration<double> seconds = Clock::now() - epoch_started_;
  run::LedgerEpoch line = costs_.end_epoch({.epoch = position_.epoch,
                                            .skipped = visits_.facts().skipped,
                                            .bytes_statistics = engine_.statistics_bytes(),
                                            .source = data_.visited_payloads.get()},
                                           *data_.train_store, summary_);
  line.visits = selection_.end(summary_);
  line.weights = count_weight_sums();
  summary_.bytes_weights += line.weights->bytes;
  if (recorder_) recorder_->record_costs(line);
  return {.training = line.processes[communicator_.rank()].seconds.training(),
          .all = seconds.count()};
}

run::WeightCosts Trainer::count_weight_sums() const {
  const bool apart = config::trains_apart(config_, position_.epoch);
  const std::uint64_t sums = apart ? engine_.syncs().size() : plan_->steps();
  return {.sums = sums,
          .bytes = run::weight_bytes(sums, config_.workers.count, summary_.parameters)};
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
                          .dissimilarity = dissimilarity_,
                          .worker_scores = std::exchange(worker_scores_, {}),
                          .non_finite = facts.non_finite,
                          .skipped = facts.skipped,
                          .change = change_ ? &*change_ : nullptr,
                          .seconds_train = seconds.training,
                          .seconds = seconds.all};
  if (const auto syncs = engine_.syncs(); !syncs.empty()) {
    double sum = 0;
    for (const SyncRecord& sync : syncs) sum += sync.divergence;
    result.syncs = syncs.size();
    result.replica_divergence = sum / static_cast<double>(syncs.size());
  }
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

void Trainer::record_syncs() {
  if (!recorder_) return;
  const std::uint64_t before = position_.total_steps - position_.step;
  for (const SyncRecord& sync : engine_.syncs()) {
    if (sync.step > visits_.facts().first_step) {
      recorder_->record_sync(before + sync.step, sync.divergence);
    }
  }
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
                 .threads = torch::get_num_threads(),
                 .times_hidden = selection_.times_hidden()};
  if (position_.step > 0) {
    state.syncs = engine_.syncs();
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
  engine_.set_syncs(state.syncs);
  position_ = {.epoch = state.epoch, .step = state.step, .total_steps = state.total_steps};
  selection_.restore(std::move(state.times_hidden));
  visits_.restore({.ids = std::move(state.visit_ids), .values = std::move(state.visit_values)});
  const run::RunSummary fresh = std::exchange(summary_, state.summary);
  summary_.processes = fresh.processes;
  summary_.parameters = fresh.parameters;
  summary_.seconds_total = state.seconds_total;
  change_ = std::move(state.change);
  note_threads(state.threads);
}

/// With reduce: exact there is always one.
void Trainer::note_threads(int before) const {
  const int now = torch::get_num_threads();
  const bool matters = before != 0 && before != now && data_.train->device().is_cpu();
  if (matters) note(describe_threads(before, now));
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
      choose_images({.placement = placement_,
                     .data = data_,
                     .count = config_.importance.images,
                     .times_hidden = selection_.times_hidden()}),
      {.model = engine_.model(), .data = data_, .hosted = engine_.hosted()}, communicator_);
  check_directory();
  if (!is_writer()) return;
  run::write_images(config_.output + "/images.jsonl", shown);
  recorder_->record_images(summary_.epochs - 1, shown);
}

}  // namespace impart::train
