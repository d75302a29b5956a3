#include "impart/train/output/run_teller.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/schema.h"

namespace impart::train {
namespace {

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

RunTeller::RunTeller(const RunSpec& spec, comm::Communicator& communicator,
                     const RunObserver& observer, const data::Task& task, std::uint64_t examples)
    : spec_(spec),
      communicator_(communicator),
      observer_(observer),
      task_(task),
      progress_(observer, spec.config.epochs, examples) {}

void RunTeller::open(const run::RunDirectory* directory, const Position& position,
                     const RunStart& start) {
  directory_ = directory;
  if (!writes()) return;
  if (observer_.start) observer_.start(start);
  const config::RunConfig& config = spec_.config;
  recorder_ = std::make_unique<run::RunRecorder>(
      run::RunRecorderSpec{.folder = config.output,
                           .next_epoch = position.epoch,
                           .notion = config.importance.notion,
                           .save_partitions = config.partition.save,
                           .next_step = position.total_steps,
                           .settings = settings_of(config),
                           .metrics = {fmt::format("test/{}", task_.metric), "train/loss"}});
}

void RunTeller::check_directory() const {
  if (writes()) directory_->check_in_place();
}

void RunTeller::note(const std::string& sentence) const {
  if (communicator_.rank() == 0 && observer_.note) observer_.note(sentence);
}

void RunTeller::report(std::string_view phase, const Position& position, std::uint32_t steps,
                       std::function<std::optional<double>()> running_loss) const {
  communicator_.set_activity({.phase = phase, .epoch = position.epoch, .step = position.step});
  if (writes()) progress_.report(phase, position, steps, std::move(running_loss));
}

void RunTeller::change(std::uint32_t epoch, const placement::PlacementChange& change,
                       const placement::Partition& partition) {
  if (!writes()) return;
  recorder_->record_change(epoch, change, partition);
  if (!observer_.partition) return;
  observer_.partition({.epoch = epoch,
                       .event = std::string(run::name_of(change.kind)),
                       .moved = change.moved,
                       .messages = change.messages});
}

void RunTeller::costs(const run::LedgerEpoch& line) {
  if (writes()) recorder_->record_costs(line);
}

void RunTeller::epoch(const run::EpochRecord& record, std::optional<double> score, bool is_new) {
  progress_.set_last(task_, score);
  if (!writes()) return;
  recorder_->record_epoch(record);
  if (!observer_.epoch) return;
  observer_.epoch({.epoch = record.epoch,
                   .epochs = spec_.config.epochs,
                   .train_loss = record.train_loss,
                   .train_accuracy = record.train_accuracy,
                   .test_loss = record.test_loss,
                   .test_accuracy = record.test_accuracy,
                   .task = task_,
                   .score = is_new ? score : std::nullopt,
                   .learning_rate = record.learning_rate,
                   .seconds = record.seconds,
                   .seconds_train = record.seconds_train,
                   .event = record.change ? std::string(run::name_of(record.change->kind)) : ""});
}

void RunTeller::steps(const StepTrace& trace) {
  if (!writes()) return;
  std::vector<run::StepRecord> steps;
  for (const double loss : trace.losses) {
    const auto step = trace.first_step + static_cast<std::uint32_t>(steps.size());
    steps.push_back({.loss = loss, .learning_rate = trace.learning_rate(step)});
  }
  recorder_->record_steps(trace.epoch_began + trace.first_step, steps);
  for (const SyncRecord& sync : trace.syncs) {
    if (sync.step > trace.first_step) {
      recorder_->record_sync(trace.epoch_began + sync.step, sync.divergence);
    }
  }
}

void RunTeller::images(std::uint32_t epoch, std::span<const run::ImageRecord> images) {
  if (writes()) recorder_->record_images(epoch, images);
}

}  // namespace impart::train
