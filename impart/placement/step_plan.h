#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/placement/hosted_workers.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// What becomes of parts of unequal size.
enum class Uneven {
  kWeight,  ///< the step's gradient is the sum over examples / number of examples
  kPad,     ///< short parts repeat examples until all parts are equally long
  kDrop,    ///< long parts leave out their last examples
};

/// What becomes of a last step with fewer than half the examples of the one before.
enum class LastStep {
  kShort,   ///< it stays as it is
  kShared,  ///< the one before has half a batch of every worker, the last one all that is left
};

/// How the orders of all workers in an epoch become steps: step s of a worker is the s-th `batch`
/// examples of its order, but for the last two where they are shared. A worker whose order is
/// shorter has fewer rows in the last steps, or none.
///
/// An example that is visited more than once in an epoch trains each time, and is observed the
/// first time.
///
/// 8 bytes per visit; an order that is moved into it is not copied unless it is padded.
///
/// Uneven parts: `weight` leaves them as they are; `pad` repeats examples from the start of a short
/// order until all are equally long; `drop` cuts the long ones.
class StepPlan {
 public:
  StepPlan(Parts order, std::uint32_t batch, Uneven uneven, LastStep last_step = LastStep::kShort);

  std::uint32_t steps() const { return steps_; }
  std::uint32_t workers() const { return order_.workers(); }

  /// What a worker visits in a step; nothing beyond its last one.
  std::span<const ExampleId> batch_of(WorkerId worker, std::uint32_t step) const;
  /// How many of these are first visits of the epoch, and so observed.
  std::size_t observed_of(WorkerId worker, std::uint32_t step) const;
  /// Whether one of them is.
  bool is_observed(WorkerId worker, std::uint32_t step, std::size_t row) const;
  /// How many examples a worker visits in the steps first..last-1.
  std::uint64_t visits_between(WorkerId worker, std::uint32_t first, std::uint32_t last) const;
  /// Examples of all workers in a step.
  std::uint64_t examples_in(std::uint32_t step) const;

 private:
  void find_repeated();
  std::span<const ExampleId> list_of(WorkerId worker) const {
    return order_.of(worker).first(lengths_[index(worker)]);
  }
  /// Where a step of a worker starts; its length from the last step's end on.
  std::size_t start_of(WorkerId worker, std::uint64_t step) const;

  Parts order_;
  std::vector<std::size_t> lengths_;  ///< of every worker's list, which may be cut
  /// By worker and position; none for a worker whose visits are all of other examples.
  std::vector<std::vector<bool>> is_repeated_;
  std::size_t batch_;
  std::uint32_t steps_ = 0;
  bool shares_last_ = false;
};

/// The rows that one process's workers visit in an epoch, step after step and in a step worker
/// after worker, from first_step to last_step - 1: the order in which their signals are collected.
struct VisitList {
  std::vector<ExampleId> ids;
  std::vector<WorkerId> workers;
  std::vector<bool> observed;
};
VisitList visits_of(const StepPlan& plan, const HostedWorkers& workers, std::uint32_t first_step,
                    std::uint32_t last_step);

}  // namespace impart::placement
