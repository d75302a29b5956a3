#include "impart/cost/io_advice.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace impart::cost {
namespace {

/// "300 ms of 62.1 s an epoch".
std::string share_text(double seconds, const TimedStrategy& strategy) {
  return fmt::format("{} of {} an epoch", seconds_text(seconds),
                     seconds_text(strategy.time.total()));
}

bool is_worth_a_word(double seconds, const TimedStrategy& strategy) {
  return seconds > kShareToGain * strategy.time.total();
}

const TimedStrategy& dearest_exchange(std::span<const TimedStrategy> strategies) {
  return *std::max_element(strategies.begin(), strategies.end(), [](const auto& a, const auto& b) {
    return a.time.exchange.waits() < b.time.exchange.waits();
  });
}

/// Moves most of those that are about as fast as the fastest.
const TimedStrategy& best_mixing(std::span<const TimedStrategy> strategies) {
  const auto& fastest = *std::min_element(
      strategies.begin(), strategies.end(),
      [](const auto& a, const auto& b) { return a.time.total() < b.time.total(); });
  const TimedStrategy* best = &fastest;
  for (const TimedStrategy& one : strategies) {
    const bool is_fast = one.time.total() <= (1 + kShareToGain) * fastest.time.total();
    if (is_fast && one.moved > best->moved) best = &one;
  }
  return *best;
}

/// What else a strategy waits for, most of all; "" if it is not much.
std::string other_wait(const TimedStrategy& strategy) {
  const double reading = strategy.time.reading.waits();
  const double gradients = strategy.time.gradients.waits();
  const double most = std::max(reading, gradients);
  if (!is_worth_a_word(most, strategy)) return "";
  return fmt::format("; {} waits {} for {}, whatever is moved", strategy.name,
                     share_text(most, strategy), reading > gradients ? "reading" : "gradients");
}

}  // namespace

std::string advise(std::span<const TimedStrategy> strategies) {
  const TimedStrategy& dearest = dearest_exchange(strategies);
  const double waits = dearest.time.exchange.waits();
  const TimedStrategy& best = best_mixing(strategies);
  if (!is_worth_a_word(waits, dearest)) {
    return fmt::format(
        "No exchange costs more than {} ({}): there is nothing to gain from moving less{}.",
        share_text(waits, dearest), dearest.name, other_wait(dearest));
  }
  const std::string wait =
      fmt::format("{} waits {} for its exchange", dearest.name, share_text(waits, dearest));
  if (&best == &dearest)
    return fmt::format("{}, and is still the best here{}.", wait, other_wait(best));
  return fmt::format(
      "Take {}: it waits {}, and moves the most of those that are about as fast; {}{}.", best.name,
      share_text(best.time.exchange.waits(), best), wait, other_wait(best));
}

}  // namespace impart::cost
