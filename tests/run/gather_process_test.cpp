// Checks what processes gather at the end of an epoch against what one process knows by itself:
//
//   mpirun -n {1,2,4} gather_process_test

#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/run/gather_ids.h"
#include "impart/run/gather_visits.h"

namespace impart::run {
namespace {

constexpr std::uint32_t kWorkers = 5;
constexpr std::size_t kSignals = 3;
constexpr std::uint64_t kExamples = 30'000;

void require(bool holds, std::string_view what) {
  if (!holds) throw Error(fmt::format("wrong: {}", what));
}

/// A float holds it exactly.
float signal_of(std::size_t signal, ExampleId id) {
  return static_cast<float>(kSignals * index(id) + signal);
}

/// Parts of different sizes, of which the last is empty, with ids backwards.
placement::StepPlan make_plan(placement::Uneven uneven) {
  placement::Parts order(std::vector<std::uint64_t>{9'000, 1, 12'000, 8'999, 0});
  std::uint64_t next = kExamples;
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    for (ExampleId& id : order.of(WorkerId{worker})) id = ExampleId{--next};
  }
  return {std::move(order), 64, uneven};
}

placement::VisitList rows_of(const GatherVisitsSpec& spec, std::uint32_t rank,
                             std::uint32_t processes) {
  return placement::visits_of(*spec.plan, placement::hosted_workers(kWorkers, rank, processes),
                              spec.first_step, spec.last_step);
}

/// What the gathering must come to.
std::vector<ExampleId> expected_ids(const GatherVisitsSpec& spec, std::uint32_t processes) {
  std::vector<ExampleId> ids = spec.earlier->ids;
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    const placement::VisitList rows = rows_of(spec, rank, processes);
    for (std::size_t row = 0; row < rows.ids.size(); ++row) {
      const bool is_skipped = !spec.skipped->empty() && (*spec.skipped)[index(rows.ids[row])];
      if (rows.observed[row] && !is_skipped) ids.push_back(rows.ids[row]);
    }
  }
  return ids;
}

std::vector<float> signals_of(const std::vector<ExampleId>& ids) {
  std::vector<float> values;
  for (std::size_t signal = 0; signal < kSignals; ++signal) {
    for (const ExampleId id : ids) values.push_back(signal_of(signal, id));
  }
  return values;
}

/// The step of each visit, by looking for it.
void check_steps(const GatherVisitsSpec& spec, const Visits& piece) {
  std::vector<std::uint32_t> step_of(kExamples);
  for (std::uint32_t step = spec.last_step; step-- > spec.first_step;) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      for (const ExampleId id : spec.plan->batch_of(WorkerId{worker}, step)) {
        step_of[index(id)] = step;
      }
    }
  }
  for (std::size_t i = 0; i < piece.steps.size(); ++i) {
    require(piece.steps[i] == step_of[index(piece.ids[i])], "steps");
  }
}

void check_visits(comm::Communicator& communicator, const placement::StepPlan& plan,
                  const std::vector<bool>& skipped, std::size_t made_before) {
  Visits earlier;
  for (std::uint64_t i = 0; i < made_before; ++i) earlier.ids.push_back(ExampleId{i});
  earlier.values = signals_of(earlier.ids);
  GatherVisitsSpec spec{.plan = &plan,
                        .first_step = made_before > 0 ? 3u : 0u,
                        .last_step = plan.steps(),
                        .signals = kSignals,
                        .earlier = &earlier,
                        .skipped = &skipped};
  const std::vector<float> mine =
      signals_of(rows_of(spec, communicator.rank(), communicator.size()).ids);
  spec.mine = mine;
  const std::vector<ExampleId> expected = expected_ids(spec, communicator.size());

  const Visits whole = gather_visits(spec, communicator);
  require(whole.ids == expected, "ids of all visits");
  require(whole.values == signals_of(expected), "signals of all visits");

  std::vector<ExampleId> shown;
  std::size_t with_steps = 0;
  show_visits(spec, communicator, [&](const Visits& piece) {
    require(!piece.ids.empty(), "a piece of no visits");
    require(piece.values == signals_of(piece.ids), "signals of a piece");
    require(piece.steps.empty() || piece.steps.size() == piece.ids.size(), "steps of a piece");
    check_steps(spec, piece);
    with_steps += piece.steps.size();
    shown.insert(shown.end(), piece.ids.begin(), piece.ids.end());
  });
  require(shown == expected, "pieces");
  require(with_steps == expected.size() - made_before, "visits whose steps are known");
}

void check_all_visits(comm::Communicator& communicator) {
  std::vector<bool> skipped(kExamples);
  for (std::size_t id = 0; id < kExamples; id += 7) skipped[id] = true;
  for (const auto uneven : {placement::Uneven::kWeight, placement::Uneven::kPad}) {
    const placement::StepPlan plan = make_plan(uneven);
    for (const std::size_t made_before : {std::size_t{0}, std::size_t{5'000}}) {
      check_visits(communicator, plan, {}, made_before);
      check_visits(communicator, plan, skipped, made_before);
    }
  }
}

void check_ids(comm::Communicator& communicator) {
  // Process p names p ids: the first none.
  const auto named_by = [](std::uint32_t rank) {
    std::vector<ExampleId> ids;
    for (std::uint32_t i = 0; i < rank; ++i) ids.push_back(ExampleId{1'000 * rank + i});
    return ids;
  };
  std::vector<ExampleId> expected;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    const auto ids = named_by(rank);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  require(gather_ids(named_by(communicator.rank()), communicator) == expected, "ids");
  require(gather_ids({}, communicator).empty(), "no ids");
}

}  // namespace
}  // namespace impart::run

int main() {
  try {
    const auto communicator = impart::comm::make_communicator();
    impart::comm::run_job(*communicator, [&] {
      impart::run::check_all_visits(*communicator);
      impart::run::check_ids(*communicator);
    });
    if (communicator->rank() == 0) fmt::print("{} processes: right\n", communicator->size());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gather_process_test: {}\n", error.what());
    return 1;
  }
}
