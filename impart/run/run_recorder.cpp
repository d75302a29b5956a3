#include "impart/run/run_recorder.h"

#include <filesystem>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace impart::run {

namespace {

/// Shows the members that have a tag in TensorBoard.
class ScalarWriter {
 public:
  ScalarWriter(EventWriter& events, std::uint32_t epoch) : events_(events), epoch_(epoch) {}

  template <class Number>
  void operator()(const char*, Number value,
                  const char* tag) requires std::is_arithmetic_v<Number> {
    if (*tag != '\0') events_.scalar(tag, epoch_, static_cast<double>(value));
  }
  template <class Number>
  void operator()(const char* name, const std::optional<Number>& value, const char* tag) {
    if (value) (*this)(name, *value, tag);
  }
  void operator()(const char*, const placement::PlacementChange* change, const char*) {
    if (change != nullptr) for_each_change_member(*change, *this);
  }

 private:
  EventWriter& events_;
  std::uint32_t epoch_;
};

}  // namespace

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

void RunRecorder::record_epoch(const EpochRecord& record) {
  metrics_.append(epoch_line(record));
  for_each_epoch_member(record, ScalarWriter(events_, record.epoch));
}

void RunRecorder::record_costs(const LedgerEpoch& costs) {
  ledger_.append(ledger_record(costs));
}

}  // namespace impart::run
