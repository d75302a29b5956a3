#include "impart/run/run_recorder.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"

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
  void operator()(const char*, const std::vector<double>&, const char*) {}
  void operator()(const char*, const std::optional<StoppedAt>&, const char*) {}
  void operator()(const char*, const placement::PlacementChange* change, const char*) {
    if (change != nullptr) for_each_change_member(*change, *this);
  }

 private:
  EventWriter& events_;
  std::uint32_t epoch_;
};

constexpr std::size_t kMostPoints = 500;  ///< of an epoch: TensorBoard shows 1000 of a run

std::string made_folder(const std::string& path) {
  make_folder(path);
  return path;
}

}  // namespace

RunRecorder::RunRecorder(RunRecorderSpec spec)
    : spec_(std::move(spec)),
      metrics_(spec_.folder + "/metrics.jsonl", spec_.next_epoch),
      ledger_(spec_.folder + "/ledger.jsonl", spec_.next_epoch),
      events_({.folder = spec_.folder, .first_step = spec_.next_epoch}),
      step_events_({.folder = made_folder(spec_.folder + "/steps"),
                    .first_step = static_cast<std::int64_t>(spec_.next_step)}) {
  if (!spec_.settings.empty()) events_.settings(spec_.settings, spec_.metrics);
}

void RunRecorder::record_change(std::uint32_t epoch, const placement::PlacementChange& change,
                                const placement::Partition& partition) {
  if (spec_.save_partitions) {
    make_folder(spec_.folder + "/partitions");
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

void RunRecorder::record_steps(std::uint64_t first, std::span<const StepRecord> steps) {
  const std::size_t stride = (steps.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t start = 0; start < steps.size(); start += stride) {
    const auto some = steps.subspan(start, std::min(stride, steps.size() - start));
    double loss = 0;
    for (const StepRecord& step : some) loss += step.loss;
    const auto number = static_cast<std::int64_t>(first + start + some.size());
    step_events_.scalar("step/loss", number, loss / static_cast<double>(some.size()));
    step_events_.scalar("step/learning_rate", number, some.back().learning_rate);
  }
}

void RunRecorder::record_sync(std::uint64_t step, double divergence) {
  step_events_.scalar("step/replica_divergence", static_cast<std::int64_t>(step), divergence);
}

void RunRecorder::record_images(std::uint32_t epoch, std::span<const ImageRecord> images) {
  for (const ImageRecord& image : images) {
    const auto show = [&](const std::string& tag) {
      events_.describe(tag, fmt::format("example {}: {}, taken for {}", image.id, image.label,
                                        image.prediction));
      events_.image(tag, epoch, image.png);
    };
    for (const ImageRank& rank : image.ranks) {
      if (rank.in_class) continue;
      show(
          fmt::format("{} by {}/{}", rank.hardest ? "hardest" : "easiest", rank.notion, rank.rank));
    }
    if (const auto& hidden = image.hidden) {
      show(fmt::format("hidden {} often/{}", hidden->most ? "most" : "least", hidden->rank));
    }
  }
}

void RunRecorder::record_costs(const LedgerEpoch& costs) {
  ledger_.append(ledger_record(costs));
}

}  // namespace impart::run
