#include "impart/run/run_recorder.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace impart::run {

std::string_view name_of(placement::ScheduleEvent::Kind kind) {
  switch (kind) {
    case placement::ScheduleEvent::Kind::kRandom:
      return "random";
    case placement::ScheduleEvent::Kind::kHeuristic:
      return "heuristic";
    case placement::ScheduleEvent::Kind::kExchange:
      return "exchange";
  }
  return "";
}

RunRecorder::RunRecorder(RunRecorderSpec spec)
    : spec_(std::move(spec)),
      metrics_(spec_.folder + "/metrics.jsonl", spec_.next_epoch),
      ledger_(spec_.folder + "/ledger.jsonl", spec_.next_epoch),
      events_({.folder = spec_.folder, .first_step = spec_.next_epoch}) {}

void RunRecorder::record_change(std::uint32_t epoch, const placement::PlacementChange& change,
                                const placement::Partition& partition) {
  if (spec_.save_partitions) {
    std::filesystem::create_directories(spec_.folder + "/partitions");
    placement::write_partition(fmt::format("{}/partitions/epoch-{:04}.csv", spec_.folder, epoch),
                               partition);
  }
  if (!change.importance.empty()) {
    events_.histogram("importance/" + spec_.notion, epoch, change.importance);
  }
}

void RunRecorder::record_epoch(const EpochResult& result,
                               const placement::PlacementChange* change) {
  nlohmann::ordered_json record = {{"epoch", result.epoch},
                                   {"step", result.step},
                                   {"learning_rate", result.learning_rate},
                                   {"train_loss", result.train_loss},
                                   {"train_accuracy", result.train_accuracy}};
  if (result.test_loss) record["test_loss"] = *result.test_loss;
  if (result.test_accuracy) record["test_accuracy"] = *result.test_accuracy;
  if (result.test_perplexity) record["test_perplexity"] = *result.test_perplexity;
  if (result.test_bits_per_byte) record["test_bits_per_byte"] = *result.test_bits_per_byte;
  record["non_finite"] = result.non_finite;
  if (result.skipped > 0) record["skipped"] = result.skipped;
  if (change != nullptr) {
    record["placement"] = {
        {"event", name_of(change->kind)},       {"moved", change->moved},
        {"messages", change->messages},         {"imbalance_cv", change->imbalance_cv},
        {"imbalance_ks", change->imbalance_ks}, {"class_skew", change->class_skew}};
  }
  record["seconds_train"] = result.seconds_train;
  record["seconds"] = result.seconds;
  metrics_.append(record);

  const auto scalar = [&](const char* name, double value) {
    events_.scalar(name, result.epoch, value);
  };
  scalar("train/loss", result.train_loss);
  scalar("train/accuracy", result.train_accuracy);
  scalar("train/learning_rate", result.learning_rate);
  if (result.test_loss) scalar("test/loss", *result.test_loss);
  if (result.test_accuracy) scalar("test/accuracy", *result.test_accuracy);
  if (result.test_perplexity) scalar("test/perplexity", *result.test_perplexity);
  if (result.test_bits_per_byte) scalar("test/bits_per_byte", *result.test_bits_per_byte);
  if (change != nullptr) {
    scalar("placement/moved", static_cast<double>(change->moved));
    scalar("placement/imbalance_cv", change->imbalance_cv);
  }
}

void RunRecorder::record_costs(const LedgerEpoch& costs) {
  ledger_.append(ledger_record(costs));
}

}  // namespace impart::run
