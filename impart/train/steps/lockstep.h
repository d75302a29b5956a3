#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <semaphore>
#include <span>
#include <vector>

#include "impart/models/layers/shared_sums.h"
#include "impart/train/steps/norm_exchange.h"

namespace impart::train {

/// Passes of single workers that meet in every batch norm: each runs on a thread of its own until
/// it needs sums of all, and then the next one does. Only one runs at a time, in the order of
/// workers, so that what they share needs no lock, and sums have one order. On the CPU, where a
/// backward pass runs on the thread that asked for it.
class Lockstep final : public models::SharedSums {
 public:
  explicit Lockstep(NormExchange& exchange) : exchange_(exchange) {}

  struct Pass {
    std::uint32_t worker = 0;           ///< hosted, from 0
    std::function<void()> run = {};     ///< all of them meet equally often
    std::function<void()> resume = {};  ///< called before it runs and after each meeting
  };
  /// Returns when all have ended; throws what the first of them has thrown.
  /// Collective: every process calls it, in the same order.
  void run(std::span<const Pass> passes);

  /// A meeting of the passes. Each has rows of its own worker's group only, and gets all groups'.
  void add_up(std::span<double> sums, std::int64_t width) override;

 private:
  struct CalledOff {};  ///< thrown in the passes that wait when another has failed

  void live(std::size_t pass);
  void wait_for_turn(std::size_t pass);
  void end_turn(std::size_t pass);

  NormExchange& exchange_;
  std::span<const Pass> passes_;
  std::deque<std::binary_semaphore> turns_;  ///< of each pass: whether it is its turn
  std::size_t running_ = 0;                  ///< the pass whose turn it is
  std::exception_ptr failure_;
  std::vector<double> rows_;  ///< [hosted workers, width]
  std::vector<double> sums_;  ///< [groups here, width]
};

}  // namespace impart::train
