// What selecting the visits of an epoch costs, against one std::stable_sort of the scores.
//
//   build/release/bin/selection_bench
//
// Every row checks how much is visited before it is timed. `sorts` is the ratio to the sort, both
// timed in turns in the same run; `ms` is the median of ours.

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"

namespace impart::bench {
namespace {

constexpr std::uint32_t kWorkers = 8;

std::vector<float> make_losses(std::uint64_t examples) {
  RandomStream random({.seed = 1, .purpose = Purpose("bench")});
  std::vector<float> losses(examples);
  for (float& loss : losses) loss = static_cast<float>(random.exponential());
  return losses;
}

double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double seconds_of_sort(const std::vector<float>& losses) {
  std::vector<std::uint32_t> ids(losses.size());
  std::iota(ids.begin(), ids.end(), 0u);
  return seconds_of([&] {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return losses[a] < losses[b]; });
    benchmark::DoNotOptimize(ids.data());
  });
}

void select(benchmark::State& state, const placement::SelectionEntry& entry) {
  const auto losses = make_losses(static_cast<std::uint64_t>(state.range(0)));
  const std::vector<std::uint8_t> correct(losses.size(), 1);
  const placement::Parts parts = placement::deal_in_stripes(losses, {.workers = kWorkers}).parts();
  const placement::SelectionInput input{
      .parts = parts, .examples = losses.size(), .scores = losses, .correct = correct};
  const placement::SelectionSpec spec{.epoch = 3,
                                      .epochs = 100,
                                      .share = 0.4,
                                      .confidence = 0.1,
                                      .threshold = 0,
                                      .after = 3,
                                      .ramp = 10};
  const auto run = [&] { return placement::select_visits(entry, input, spec); };
  const auto visits = placement::count_visits(run(), losses.size()).visits;
  require(visits > losses.size() / 2 && visits <= losses.size(), entry.name);
  std::vector<double> sorting, selecting;
  for (auto _ : state) {
    sorting.push_back(seconds_of_sort(losses));
    selecting.push_back(seconds_of([&] { benchmark::DoNotOptimize(run()); }));
    state.SetIterationTime(selecting.back());
  }
  state.counters["ms"] = 1e3 * middle(selecting);
  state.counters["sorts"] = middle(selecting) / middle(sorting);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  for (const auto& entry : impart::placement::kSelections) {
    benchmark::RegisterBenchmark(
        std::string(entry.name).c_str(),
        [&entry](benchmark::State& state) { impart::bench::select(state, entry); })
        ->Arg(50'000)
        ->Arg(10'000'000)
        ->UseManualTime()
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
