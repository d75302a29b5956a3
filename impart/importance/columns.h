#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/importance/signals.h"

namespace impart::importance {

/// The importance table's state: one array per number, one element per example. Arrays that the
/// chosen notions do not need stay empty.
struct Columns {
  // Of the window:
  std::vector<std::uint32_t> visits;       ///< with finite signals
  std::vector<std::uint32_t> non_finite;   ///< visits with NaN or infinite signals
  PerSignal<std::vector<float>> mean, m2;  ///< of signals with a variance
  PerSignal<std::vector<float>> sum;       ///< of the others
  // Of the run. The first visit is kept because it is what a merge must join on to.
  std::vector<std::uint32_t> run_visits, first_epoch, last_epoch;
  std::vector<float> first_loss, last_loss, loss_ema;
  std::vector<std::uint32_t> run_losses;  ///< visits with finite signals
  std::vector<std::uint32_t> forgotten;
  std::vector<std::uint8_t> correctness;  ///< the bits below

  static constexpr std::uint8_t kFirstCorrect = 1, kLastCorrect = 2, kEverCorrect = 4, kSeen = 8;
};

enum class Scope { kWindow, kRun };

/// Calls f(name, array, scope, needed_for) for every column: the one list of them, which creating,
/// resetting, saving and loading go by.
template <class Self, class Function>
void for_each_column(Self& c, Function&& f) {
  using enum StateSet;
  const StateSet losses_in_time = kLossLast | kLossEma;
  const StateSet any_in_time = losses_in_time | kForgetting;
  f("visits", c.visits, Scope::kWindow, kAnySignal);
  f("non_finite", c.non_finite, Scope::kWindow, kAnySignal);
  for (const SignalRow& row : kSignals) {
    const std::string name(row.name);
    if (row.has_variance()) {
      f(name + "_mean", c.mean[row.signal], Scope::kWindow, row.mean | row.variance);
      f(name + "_m2", c.m2[row.signal], Scope::kWindow, row.variance);
    } else {
      f(name + "_sum", c.sum[row.signal], Scope::kWindow, row.mean);
    }
  }
  f("run_visits", c.run_visits, Scope::kRun, any_in_time);
  f("first_epoch", c.first_epoch, Scope::kRun, any_in_time);
  f("last_epoch", c.last_epoch, Scope::kRun, any_in_time);
  f("last_loss", c.last_loss, Scope::kRun, losses_in_time);
  f("first_loss", c.first_loss, Scope::kRun, kLossEma);
  f("loss_ema", c.loss_ema, Scope::kRun, kLossEma);
  f("run_losses", c.run_losses, Scope::kRun, losses_in_time);
  f("forgotten", c.forgotten, Scope::kRun, kForgetting);
  f("correctness", c.correctness, Scope::kRun, kForgetting);
}

/// Empty state for so many examples.
Columns make_columns(StateSet needs, std::uint64_t examples);

/// What the columns say of the examples from `first` on. Fields without a column are left alone.
void read_statistics(const Columns& columns, std::uint64_t first,
                     std::span<ExampleStatistics> into);

/// Adds to example `i` of `into` what `from` has seen of it, as if one table had seen the visits of
/// both. Counts, means and variances are exact whatever the order. What depends on time (last,
/// moving average, forgetting) is exact if the visits of one all come before those of the other,
/// as they do when tables are merged after every epoch; visits in the same epoch count as `into`'s
/// first.
void merge_example(Columns& into, const Columns& from, std::uint64_t i, float ema_weight);

}  // namespace impart::importance
