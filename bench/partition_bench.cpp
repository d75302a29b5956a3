// Ranking and assignment against the obvious way: std::stable_sort of (importance, id) pairs.
//
//   build/release/bin/partition_bench
//
// Every row checks its partition against the naive one before it is timed. `speedup` is the ratio
// to the naive way, both timed in turns in the same run; `ms` is the median of ours.

#include <algorithm>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"

namespace impart::bench {
namespace {

/// Losses as training leaves them: most small, some large.
std::vector<float> make_scores(std::uint64_t examples) {
  RandomStream random({.seed = 1, .purpose = Purpose("bench")});
  std::vector<float> scores(examples);
  for (float& score : scores) score = static_cast<float>(random.exponential());
  return scores;
}

/// Stripes by sorting pairs; Id is how wide an id is in a pair.
template <class Id>
placement::Partition sort_pairs(const std::vector<float>& scores, std::uint32_t workers) {
  std::vector<std::pair<float, Id>> pairs(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) pairs[i] = {scores[i], static_cast<Id>(i)};
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<WorkerId> owners(scores.size());
  for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
    owners[static_cast<std::size_t>(pairs[rank].second)] =
        WorkerId{static_cast<std::uint32_t>(rank % workers)};
  }
  return {std::move(owners), workers};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

template <class Id>
void stripes_against_sorted_pairs(benchmark::State& state) {
  const auto scores = make_scores(static_cast<std::uint64_t>(state.range(0)));
  const auto workers = static_cast<std::uint32_t>(state.range(1));
  require(
      placement::deal_in_stripes(scores, {.workers = workers}) == sort_pairs<Id>(scores, workers),
      "stripes");
  std::vector<double> naive, ours;
  for (auto _ : state) {
    naive.push_back(seconds_of([&] { benchmark::DoNotOptimize(sort_pairs<Id>(scores, workers)); }));
    ours.push_back(seconds_of([&] {
      benchmark::DoNotOptimize(placement::deal_in_stripes(scores, {.workers = workers}));
    }));
    state.SetIterationTime(ours.back());
  }
  state.counters["ms"] = 1e3 * median(ours);
  state.counters["naive_ms"] = 1e3 * median(naive);
  state.counters["speedup"] = median(naive) / median(ours);
}

void heuristic(benchmark::State& state, const placement::HeuristicEntry& entry, bool sticky) {
  const auto scores = make_scores(static_cast<std::uint64_t>(state.range(0)));
  const auto workers = static_cast<std::uint32_t>(state.range(1));
  const placement::Partition previous = placement::shuffle_evenly(scores, {.workers = workers});
  std::vector<std::uint32_t> labels(scores.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint32_t>(i % 10);
  const placement::PartitionSpec spec{
      .workers = workers, .labels = labels, .sticky_to = sticky ? &previous : nullptr};
  for (auto _ : state) benchmark::DoNotOptimize(entry.function(scores, spec));
  state.counters["ns_per_example"] = benchmark::Counter(
      1e-9 * static_cast<double>(scores.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  namespace ib = impart::bench;
  for (const auto& [name, function] :
       {std::pair{"stripes/pairs-of-8-bytes", &ib::stripes_against_sorted_pairs<std::uint32_t>},
        std::pair{"stripes/pairs-of-16-bytes",
                  &ib::stripes_against_sorted_pairs<impart::ExampleId>}}) {
    benchmark::RegisterBenchmark(name, function)
        ->Args({50'000, 4})
        ->Args({10'000'000, 4})
        ->UseManualTime()
        ->MinTime(1)
        ->Unit(benchmark::kMillisecond);
  }
  for (const auto& entry : impart::placement::kHeuristics) {
    for (const bool sticky : {false, true}) {
      const auto name = fmt::format("{}{}", entry.name, sticky ? "/sticky" : "");
      benchmark::RegisterBenchmark(
          name.c_str(), [&entry, sticky](benchmark::State& s) { ib::heuristic(s, entry, sticky); })
          ->Args({1'000'000, 8})
          ->Args({1'000'000, 1024})
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
