#include "impart/placement/rows.h"

#include <algorithm>
#include <utility>

namespace impart::placement {

RowDealer::RowDealer(std::uint64_t examples, const PartitionSpec& spec, Preference preference,
                     Given given)
    : spec_(spec),
      preference_(std::move(preference)),
      given_(std::move(given)),
      owners_(examples),
      taken_(spec.workers) {
  row_.reserve(spec.workers);
}

void RowDealer::deal(std::span<const ExampleId> run) {
  while (!run.empty()) {
    const auto part = run.first(std::min(run.size(), spec_.workers - row_.size()));
    row_.insert(row_.end(), part.begin(), part.end());
    run = run.subspan(part.size());
    if (row_.size() == spec_.workers) deal_row();
  }
}

Partition RowDealer::finish() {
  if (!row_.empty()) deal_row();
  return {std::move(owners_), spec_.workers};
}

void RowDealer::keep_owners() {
  for (std::size_t position = 0; position < row_.size(); ++position) {
    const std::uint32_t owner = index(spec_.sticky_to->owner(row_[position]));
    if (owner >= spec_.workers || taken_[owner]) continue;
    taken_[owner] = true;
    kept_[position] = true;
    owners_[index(row_[position])] = WorkerId{owner};
  }
}

void RowDealer::deal_row() {
  kept_.assign(row_.size(), false);
  taken_.assign(spec_.workers, false);
  if (spec_.sticky_to != nullptr) keep_owners();

  free_.clear();
  for (std::uint32_t worker = 0; worker < spec_.workers; ++worker) {
    if (!taken_[worker]) free_.push_back(WorkerId{worker});
  }
  if (preference_) preference_(row_number_, free_);
  auto next_free = free_.begin();
  for (std::size_t position = 0; position < row_.size(); ++position) {
    if (!kept_[position]) owners_[index(row_[position])] = *next_free++;
  }
  if (given_) {
    for (const ExampleId example : row_) given_(example, owners_[index(example)]);
  }
  row_.clear();
  ++row_number_;
}

}  // namespace impart::placement
