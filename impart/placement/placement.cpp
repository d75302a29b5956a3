#include "impart/placement/placement.h"

#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {

Placement::Placement(PlacementSpec spec, PlacementData data)
    : ownership_(std::move(spec), std::move(data)),
      table_({.examples = ownership_.data().examples,
              .notions = tracked_notions(this->spec()),
              .keeps = kept_state(this->spec()),
              .ignore = this->spec().ignore,
              .window = this->spec().window,
              .seed = this->spec().seed,
              .truth = ownership_.data().truth,
              .history = this->spec().history}) {}

std::optional<PlacementChange> Placement::prepare_epoch(
    std::uint32_t epoch, const std::function<std::vector<float>()>& inference_losses) {
  const std::string_view notion = spec().notion.name;
  auto change = ownership_.prepare_epoch(
      epoch, {.close_window = [&] { return table_.close_window(notion); },
              .notion = [&] { return table_.importance(notion); },
              .training_loss = [&] { return table_.importance(kLaggingLoss); },
              .inference_loss = inference_losses});
  if (!change) return change;
  ownership_.measure(*change);
  if (!mixing_) mixing_.emplace(partition());
  mixing_->note(partition());
  change->mixed = mixing_->moved(partition());
  change->seen = mixing_->seen();
  return change;
}

Selected Placement::select(std::uint32_t epoch) const {
  return ownership_.select(epoch,
                           {.notion = [&] { return table_.known_importance(spec().notion.name); },
                            .training_loss = [&] { return table_.known_importance(kLaggingLoss); },
                            .correct = [&] { return table_.last_correct(); }});
}

std::vector<float> Placement::selection_scores() const {
  const ImportanceSource source = spec().selection.needs.source;
  if (source == ImportanceSource::kNone) return {};
  return table_.known_importance(source == ImportanceSource::kNotion ? spec().notion.name
                                                                     : kLaggingLoss);
}

void Placement::restore(Partition partition, importance::ImportanceTable table,
                        std::vector<float> dealt_by, std::vector<ExampleId> arrivals,
                        std::vector<ExampleId> gone, std::optional<Mixing> mixing) {
  if (mixing && mixing->start().examples() != partition.examples()) {
    throw DataError(fmt::format("the saved start is of {} examples, the partition of {}",
                                mixing->start().examples(), partition.examples()));
  }
  ownership_.restore(std::move(partition), std::move(dealt_by), std::move(arrivals),
                     std::move(gone));
  table_ = std::move(table);
  mixing_ = mixing ? std::move(mixing) : Mixing(ownership_.first_partition());
  mixing_->note(this->partition());
}

}  // namespace impart::placement
