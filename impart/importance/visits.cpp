#include "impart/importance/visits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace impart::importance {
namespace {

/// Running mean and, if it is kept, sum of squared differences (Welford). For the k-th visit,
/// weights[j] = 1/k and shares[j] = (k-1)/k.
void add_to_moments(std::vector<float>& mean, std::vector<float>& m2,
                    std::span<const ExampleId> ids, std::span<const float> values,
                    std::span<const float> weights, std::span<const float> shares) {
  if (mean.empty()) return;
  if (m2.empty()) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      float& m = mean[index(ids[j])];
      m += (values[j] - m) * weights[j];
    }
    return;
  }
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const std::uint64_t i = index(ids[j]);
    const float delta = values[j] - mean[i];
    mean[i] += delta * weights[j];
    m2[i] += delta * delta * shares[j];
  }
}

void add_to_sum(std::vector<float>& sum, std::span<const ExampleId> ids,
                std::span<const float> values) {
  if (sum.empty()) return;
  for (std::size_t j = 0; j < ids.size(); ++j) sum[index(ids[j])] += values[j];
}

bool all_finite(std::span<const float> values) {
  unsigned non_finite = 0;  // no early exit, so that it becomes vector code
  for (const float value : values) {
    non_finite |= static_cast<unsigned>(!(std::abs(value) <= std::numeric_limits<float>::max()));
  }
  return non_finite == 0;
}

void note_epochs(Columns& c, std::uint32_t epoch, std::span<const ExampleId> ids) {
  for (const ExampleId id : ids) {
    const std::uint64_t i = index(id);
    c.first_epoch[i] = c.run_visits[i] == 0 ? epoch : c.first_epoch[i];
    ++c.run_visits[i];
    c.last_epoch[i] = epoch;
  }
}

/// `correct(j)` tells whether visit j was. Arithmetic instead of branches, since that cannot be
/// predicted; pointers of its own, since a byte that is written might be anything to the compiler.
template <class Correct>
void note_correctness(Columns& c, std::span<const ExampleId> ids, Correct correct) {
  std::uint8_t* const flags = c.correctness.data();
  std::uint32_t* const forgotten = c.forgotten.data();
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const std::uint64_t i = index(ids[j]);
    const unsigned right = correct(j) ? 1 : 0;
    const unsigned before = flags[i];
    const unsigned was_right = (before / Columns::kLastCorrect) & 1;
    const unsigned is_first = ((before / Columns::kSeen) & 1) ^ 1;
    const unsigned kept = before & (Columns::kFirstCorrect | Columns::kEverCorrect);
    const unsigned now = (Columns::kLastCorrect | Columns::kEverCorrect) * right;
    flags[i] = static_cast<std::uint8_t>(kept | now | Columns::kSeen |
                                         (Columns::kFirstCorrect * (right & is_first)));
    forgotten[i] += was_right & (right ^ 1);
  }
}

void note_losses(Columns& c, std::span<const ExampleId> ids, std::span<const float> losses,
                 float ema_weight) {
  for (std::size_t j = 0; j < ids.size(); ++j) c.last_loss[index(ids[j])] = losses[j];
  if (!c.loss_ema.empty()) {
    const float keep = 1.0f - ema_weight;
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const std::uint64_t i = index(ids[j]);
      const bool is_first = c.run_losses[i]++ == 0;
      if (is_first) c.first_loss[i] = losses[j];
      c.loss_ema[i] = is_first ? losses[j] : losses[j] + keep * (c.loss_ema[i] - losses[j]);
    }
    return;
  }
  for (const ExampleId id : ids) ++c.run_losses[index(id)];
}

}  // namespace

Signals subrange(const Signals& signals, std::size_t start, std::size_t count) {
  Signals part;
  for (const SignalRow& signal : kSignals) {
    const auto values = signals.*signal.values;
    if (!values.empty()) part.*signal.values = values.subspan(start, count);
  }
  return part;
}

SplitBatch split_batch(std::span<const ExampleId> ids, const Signals& signals, StateSet needs) {
  std::vector<bool> bad;
  for (const SignalRow& signal : kSignals) {
    const auto values = signals.*signal.values;
    if (!overlap(needs, signal.needed_for()) || all_finite(values)) continue;
    bad.resize(ids.size());
    for (std::size_t j = 0; j < ids.size(); ++j) bad[j] = bad[j] || !std::isfinite(values[j]);
  }
  SplitBatch split;
  split.finite_ids = ids;
  split.finite = signals;
  if (bad.empty()) return split;

  for (std::size_t j = 0; j < ids.size(); ++j) {
    (bad[j] ? split.non_finite_ids : split.finite_ids_copy).push_back(ids[j]);
  }
  split.finite_ids = split.finite_ids_copy;
  for (const SignalRow& row : kSignals) {
    if (!overlap(needs, row.needed_for())) continue;
    const auto values = signals.*row.values;
    std::vector<float>& copy = split.finite_copy[row.signal];
    for (std::size_t j = 0; j < ids.size(); ++j) {
      if (!bad[j]) copy.push_back(values[j]);
    }
    split.finite.*row.values = copy;
  }
  return split;
}

void add_window_visits(Columns& c, std::span<const ExampleId> ids, const Signals& signals,
                       std::vector<float>& scratch) {
  if (c.visits.empty()) return;
  scratch.resize(2 * ids.size());
  const auto weights = std::span(scratch).first(ids.size());
  const auto shares = std::span(scratch).last(ids.size());
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const std::uint32_t earlier = c.visits[index(ids[j])]++;
    weights[j] = 1.0f / static_cast<float>(earlier + 1);
    shares[j] = static_cast<float>(earlier) * weights[j];
  }
  for (const SignalRow& row : kSignals) {
    const auto values = signals.*row.values;
    add_to_moments(c.mean[row.signal], c.m2[row.signal], ids, values, weights, shares);
    add_to_sum(c.sum[row.signal], ids, values);
  }
}

void add_run_visits(Columns& c, std::uint32_t epoch, std::span<const ExampleId> ids,
                    const Signals& signals, float ema_weight) {
  if (c.run_visits.empty()) return;
  note_epochs(c, epoch, ids);
  if (!c.run_losses.empty()) note_losses(c, ids, signals.loss, ema_weight);
  if (c.correctness.empty()) return;
  const float* const correct = signals.correct.data();
  note_correctness(c, ids, [correct](std::size_t j) { return correct[j] >= kCorrectFrom; });
}

void add_non_finite_visits(Columns& c, std::uint32_t epoch, std::span<const ExampleId> ids,
                           bool in_window) {
  if (in_window) {
    for (const ExampleId id : ids) ++c.non_finite[index(id)];
  }
  if (c.run_visits.empty()) return;
  note_epochs(c, epoch, ids);
  if (c.correctness.empty()) return;
  note_correctness(c, ids, [](std::size_t) { return false; });
}

}  // namespace impart::importance
