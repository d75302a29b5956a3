#include "impart/importance/columns.h"

#include <algorithm>
#include <cmath>

namespace impart::importance {
namespace {

std::uint32_t at(const std::vector<std::uint32_t>& column, std::uint64_t example) {
  return column.empty() ? 0 : column[example];
}

/// Mean and sum of squared differences of two groups of numbers together (Chan, Golub, LeVeque). A
/// second group of one number gives the same bits as observing that number.
void merge_moments(std::vector<float>& mean, std::vector<float>& m2, std::uint64_t i,
                   std::uint32_t count, const std::vector<float>& other_mean,
                   const std::vector<float>& other_m2, std::uint32_t other_count) {
  if (mean.empty()) return;
  const float delta = other_mean[i] - mean[i];
  const float share = static_cast<float>(other_count) / static_cast<float>(count + other_count);
  mean[i] += delta * share;
  if (!m2.empty()) m2[i] += other_m2[i] + delta * delta * (static_cast<float>(count) * share);
}

void add(std::vector<float>& column, const std::vector<float>& other, std::uint64_t i) {
  if (!column.empty()) column[i] += other[i];
}

/// The time-dependent state of one example, for putting two stretches of time together.
struct Stretch {
  std::uint32_t visits, first_epoch, last_epoch, run_losses, forgotten;
  float first_loss, last_loss, ema;
  std::uint8_t correctness;
};

Stretch stretch_of(const Columns& c, std::uint64_t i) {
  const auto real = [i](const std::vector<float>& column) {
    return column.empty() ? 0 : column[i];
  };
  return {c.run_visits[i],
          c.first_epoch[i],
          c.last_epoch[i],
          at(c.run_losses, i),
          at(c.forgotten, i),
          real(c.first_loss),
          real(c.last_loss),
          real(c.loss_ema),
          c.correctness.empty() ? std::uint8_t{0} : c.correctness[i]};
}

void store(Columns& c, std::uint64_t i, const Stretch& s) {
  const auto put = [i](auto& column, auto value) {
    if (!column.empty()) column[i] = value;
  };
  put(c.run_visits, s.visits);
  put(c.first_epoch, s.first_epoch);
  put(c.last_epoch, s.last_epoch);
  put(c.run_losses, s.run_losses);
  put(c.forgotten, s.forgotten);
  put(c.first_loss, s.first_loss);
  put(c.last_loss, s.last_loss);
  put(c.loss_ema, s.ema);
  put(c.correctness, s.correctness);
}

/// `early`, then `late`. A moving average over the later visits alone started from their first
/// loss; had it started from the earlier average, that difference would have faded k times.
Stretch join(const Stretch& early, const Stretch& late, float ema_weight) {
  if (early.visits == 0) return late;
  if (late.visits == 0) return early;
  using C = Columns;
  const bool forgot =
      (early.correctness & C::kLastCorrect) != 0 && (late.correctness & C::kFirstCorrect) == 0;
  Stretch joined = late;
  joined.visits = early.visits + late.visits;
  joined.first_epoch = early.first_epoch;
  joined.last_epoch = std::max(early.last_epoch, late.last_epoch);
  joined.forgotten = early.forgotten + late.forgotten + (forgot ? 1 : 0);
  joined.correctness = static_cast<std::uint8_t>(
      (early.correctness & (C::kFirstCorrect | C::kEverCorrect)) |
      (late.correctness & (C::kLastCorrect | C::kEverCorrect | C::kSeen)));
  joined.run_losses = early.run_losses + late.run_losses;
  if (early.run_losses > 0 && late.run_losses > 0) {
    joined.first_loss = early.first_loss;
    const auto faded = static_cast<float>(std::pow(1.0f - ema_weight, late.run_losses));
    joined.ema = late.ema + faded * (early.ema - late.first_loss);
  } else if (late.run_losses == 0) {
    joined.first_loss = early.first_loss;
    joined.last_loss = early.last_loss;
    joined.ema = early.ema;
  }
  return joined;
}

}  // namespace

Columns make_columns(StateSet needs, std::uint64_t examples) {
  Columns columns;
  for_each_column(columns, [&](std::string_view, auto& column, Scope, StateSet needed_for) {
    if (overlap(needs, needed_for)) column.resize(examples);
  });
  return columns;
}

void read_statistics(const Columns& c, std::uint64_t first, std::span<ExampleStatistics> into) {
  const auto copy = [&](const auto& column, auto ExampleStatistics::*field) {
    if (column.empty()) return;
    for (std::size_t j = 0; j < into.size(); ++j) into[j].*field = column[first + j];
  };
  const auto copy_mean = [&](const std::vector<float>& sums, double ExampleStatistics::*field) {
    if (sums.empty()) return;
    for (std::size_t j = 0; j < into.size(); ++j) {
      into[j].*field = double{sums[first + j]} / std::max<std::uint32_t>(into[j].visits, 1);
    }
  };
  using S = ExampleStatistics;
  copy(c.visits, &S::visits);
  copy(c.non_finite, &S::non_finite);
  for (const SignalRow& row : kSignals) {
    copy(c.mean[row.signal], row.mean_value);
    copy(c.m2[row.signal], row.m2_value);
    copy_mean(c.sum[row.signal], row.mean_value);
  }
  copy(c.run_visits, &S::run_visits);
  copy(c.run_losses, &S::run_losses);
  copy(c.last_loss, &S::loss_last);
  copy(c.loss_ema, &S::loss_ema);
  copy(c.forgotten, &S::forgotten);
  if (c.correctness.empty()) return;
  for (std::size_t j = 0; j < into.size(); ++j) {
    into[j].ever_correct = (c.correctness[first + j] & Columns::kEverCorrect) != 0;
  }
}

void merge_example(Columns& into, const Columns& from, std::uint64_t i, float ema_weight) {
  if (into.visits.empty()) return;
  if (from.visits[i] > 0) {
    for (const SignalRow& row : kSignals) {
      const Signal s = row.signal;
      merge_moments(into.mean[s], into.m2[s], i, into.visits[i], from.mean[s], from.m2[s],
                    from.visits[i]);
      add(into.sum[s], from.sum[s], i);
    }
    into.visits[i] += from.visits[i];
  }
  into.non_finite[i] += from.non_finite[i];
  if (into.run_visits.empty()) return;
  const Stretch a = stretch_of(into, i);
  const Stretch b = stretch_of(from, i);
  store(into, i,
        b.visits > 0 && b.first_epoch < a.first_epoch ? join(b, a, ema_weight)
                                                      : join(a, b, ema_weight));
}

}  // namespace impart::importance
