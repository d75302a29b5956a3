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
  costs_.add_seconds(engine_.clock().read(),
                     epoch_.change ? std::optional(epoch_.change->kind) : std::nullopt, summary_);
}

Trainer::EpochSeconds Trainer::count_costs() {
  note_seconds();
  const std::chrono::duration<double> seconds = Clock::now() - epoch_.started;
  run::LedgerEpoch line = costs_.end_epoch({.epoch = position_.epoch,
                                            .skipped = visits_.facts().skipped,
                                            .bytes_statistics = engine_.statistics_bytes(),
                                            .source = data_.visited_payloads.get()},
                                           *data_.train_store, summary_);
  line.visits = selection_.end(summary_);
  line.weights = count_weight_sums();
  summary_.bytes_weights += line.weights->bytes;
  teller_.costs(line);
  return {.training = line.processes[communicator_.rank()].seconds.training(),
          .all = seconds.count()};
}

run::WeightCosts Trainer::count_weight_sums() const {
  const bool apart = config::trains_apart(config_, position_.epoch);
  const std::uint64_t sums = apart ? engine_.syncs().size() : epoch_.plan->steps();
  return {.sums = sums,
          .bytes = run::weight_bytes(sums, config_.workers.count, summary_.parameters)};
}

void Trainer::tell_epoch(const std::optional<data::TestOutcome>& outcome,
                         const EpochSeconds& seconds) {
  const VisitFacts& facts = visits_.facts();
  run::EpochRecord result{.epoch = position_.epoch,
                          .step = position_.total_steps,
                          .learning_rate = epoch_.last_rate,
                          .train_loss = facts.train_loss,
                          .train_accuracy = facts.train_accuracy,
                          .dissimilarity = epoch_.dissimilarity,
                          .worker_scores = std::exchange(epoch_.worker_scores, {}),
                          .non_finite = facts.non_finite,
                          .skipped = facts.skipped,
                          .change = epoch_.change ? &*epoch_.change : nullptr,
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
  teller_.epoch(result, results_.last_score(), outcome.has_value());
}

void Trainer::tell_steps() {
  const VisitFacts& facts = visits_.facts();
  teller_.steps(
      {.epoch_began = position_.total_steps - position_.step,
       .first_step = facts.first_step,
       .losses = facts.step_losses,
       .learning_rate = [this](std::uint32_t step) { return selection_.learning_rate_at(step); },
       .syncs = engine_.syncs()});
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
                 .change = epoch_.change,
                 .seconds_total = summary_.seconds_total + teller_.seconds(),
                 .threads = torch::get_num_threads(),
                 .times_hidden = selection_.times_hidden()};
  if (position_.step > 0) {
    state.syncs = engine_.syncs();
    run::Visits visits = visits_.gather(position_.step);
    state.visit_ids = std::move(visits.ids);
    state.visit_values = std::move(visits.values);
  }
  engine_.collapse_statistics();
  const bool only_model =
      is_over() && config_.checkpoint.last == config::CheckpointConfig::Last::kModel;
  state.tensors = only_model ? engine_.gather_statistics() : engine_.gather_state();
  teller_.check_directory();
  if (teller_.writes()) {
    save_run_state(config_.output, state,
                   {.placement = placement_,
                    .model = engine_.model(),
                    .card = card_now(),
                    .tokenizer = data_.text ? data_.text->tokenizer : nullptr},
                   only_model ? 1 : config_.checkpoint.keep);
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
  const auto find = [&](const std::string& name) {
    for (const auto& [tensor_name, tensor] : state.tensors) {
      if (tensor_name == name) return tensor;
    }
    throw DataError(fmt::format("{}: has no tensor '{}'", checkpoint, name));
  };
  position_ = {.epoch = state.epoch, .step = state.step, .total_steps = state.total_steps};
  const run::RunSummary fresh = std::exchange(summary_, state.summary);
  if (is_over()) {
    engine_.restore_statistics(find);  // it may have no more
  } else {
    engine_.restore_state(find);
  }
  engine_.set_syncs(state.syncs);
  selection_.restore(std::move(state.times_hidden));
  visits_.restore({.ids = std::move(state.visit_ids), .values = std::move(state.visit_values)});
  summary_.processes = fresh.processes;
  summary_.parameters = fresh.parameters;
  summary_.seconds_total = state.seconds_total;
  epoch_.change = std::move(state.change);
  note_threads(state.threads);
}

/// With reduce: exact there is always one.
void Trainer::note_threads(int before) const {
  const int now = torch::get_num_threads();
  const bool matters = before != 0 && before != now && data_.train->device().is_cpu();
  if (matters) teller_.note(describe_threads(before, now));
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
  teller_.check_directory();
  if (!teller_.writes()) return;
  run::write_images(config_.output + "/images.jsonl", shown);
  teller_.images(summary_.epochs - 1, shown);
}

}  // namespace impart::train
