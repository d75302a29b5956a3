#include "python/bindings/visit_buffer.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::python {

VisitBuffer::VisitBuffer(std::uint64_t examples, importance::StateSet needs)
    : examples_(examples), needs_(needs), values_(importance::signals_for(needs).size()) {}

void VisitBuffer::add(const Batch& batch) {
  check_ids(batch.ids, batch.allow_duplicates);
  const std::vector<float> values = batch.rows.targets.data() == nullptr
                                        ? signals_of_losses(batch.rows.losses, batch.ids.size())
                                        : importance::signals_of_logits(batch.rows, needs_);
  if (values.size() != batch.ids.size() * signals()) {
    throw DataError(fmt::format(
        "there are {} ids for a batch of {} examples", batch.ids.size(),
        batch.rows.targets.size() / std::max<std::size_t>(1, batch.rows.rows_per_example)));
  }
  append(batch.ids, values);
}

void VisitBuffer::add_signals(std::span<const std::int64_t> ids, std::span<const float> values,
                              bool allow_duplicates) {
  check_ids(ids, allow_duplicates);
  if (values.size() != ids.size() * signals()) {
    throw DataError(fmt::format("there are {} values for {} visits with {} signals", values.size(),
                                ids.size(), signals()));
  }
  append(ids, values);
}

void VisitBuffer::check_ids(std::span<const std::int64_t> ids, bool allow_duplicates) {
  for (const std::int64_t id : ids) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= examples_) {
      throw DataError(
          fmt::format("example id {} is out of range: there are {} examples", id, examples_));
    }
  }
  if (allow_duplicates) return;
  sorted_.assign(ids.begin(), ids.end());
  std::sort(sorted_.begin(), sorted_.end());
  const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end());
  if (twice != sorted_.end()) {
    throw DataError(fmt::format(
        "example id {} is there twice in one batch; allow_duplicates=True counts two visits",
        *twice));
  }
}

std::vector<float> VisitBuffer::signals_of_losses(std::span<const float> losses,
                                                  std::size_t examples) const {
  for (const importance::Signal signal : importance::signals_for(needs_)) {
    if (signal == importance::Signal::kLoss) continue;
    throw DataError(
        fmt::format("the signal '{}' needs logits and targets", importance::row_of(signal).name));
  }
  if (signals() == 0) return {};
  if (losses.size() != examples) {
    throw DataError(fmt::format("there are {} losses for {} ids", losses.size(), examples));
  }
  return {losses.begin(), losses.end()};
}

void VisitBuffer::append(std::span<const std::int64_t> ids, std::span<const float> values) {
  for (const std::int64_t id : ids) ids_.push_back(ExampleId{static_cast<std::uint64_t>(id)});
  for (std::size_t signal = 0; signal < signals(); ++signal) {
    const auto row = values.subspan(signal * ids.size(), ids.size());
    values_[signal].insert(values_[signal].end(), row.begin(), row.end());
  }
}

std::vector<float> VisitBuffer::values() const {
  std::vector<float> all;
  all.reserve(signals() * size());
  for (const auto& row : values_) all.insert(all.end(), row.begin(), row.end());
  return all;
}

void VisitBuffer::clear() {
  ids_.clear();
  for (auto& row : values_) row.clear();
}

}  // namespace impart::python
