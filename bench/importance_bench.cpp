// What it costs to track every signal of every example, and to repartition by what was learnt.
//
//   build/release/bin/importance_bench
//   build/release/bin/importance_bench --benchmark_filter=repartition
//
// The statistics are checked against plain sums in double before anything is timed; `ratio`
// compares with a loop that does nothing but copy the signals of a batch, in the same run.

#include <cmath>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/importance/importance_table.h"
#include "impart/placement/heuristics.h"

namespace impart::bench {
namespace {

constexpr std::uint64_t kExamples = 50'000;
constexpr std::size_t kBatch = 1'024;

/// An epoch of shuffled ids and one value per signal and example, uniform in (0, 1).
struct Epoch {
  std::vector<ExampleId> ids;
  std::vector<float> values;
};

Epoch make_epoch(std::uint32_t epoch) {
  Epoch made{std::vector<ExampleId>(kExamples), std::vector<float>(kExamples)};
  for (std::uint64_t i = 0; i < kExamples; ++i) made.ids[i] = ExampleId{i};
  RandomStream random({.seed = 1, .purpose = Purpose("bench"), .epoch = epoch});
  shuffle(std::span(made.ids), random);
  for (float& value : made.values) value = static_cast<float>(random.open_uniform());
  return made;
}

void observe(importance::ImportanceTable& table, std::uint32_t number, const Epoch& epoch) {
  for (std::size_t start = 0; start < kExamples; start += kBatch) {
    const std::size_t size = std::min(kBatch, kExamples - start);
    importance::Signals signals;
    for (const importance::SignalRow& row : importance::kSignals) {
      signals.*row.values = std::span(epoch.values).subspan(start, size);
    }
    table.observe(number, std::span(epoch.ids).subspan(start, size), signals);
  }
}

void check(const importance::ImportanceTable& table, const std::vector<Epoch>& epochs) {
  std::vector<double> sums(kExamples);
  for (const Epoch& epoch : epochs) {
    for (std::size_t j = 0; j < kExamples; ++j)
      sums[index(epoch.ids[j])] += double{epoch.values[j]};
  }
  for (std::uint64_t i = 0; i < kExamples; ++i) {
    const auto example = table.statistics(ExampleId{i});
    const double mean = sums[i] / static_cast<double>(epochs.size());
    require(example.visits == epochs.size() && std::abs(example.loss_mean - mean) < 1e-5 &&
                std::abs(example.entropy_mean - mean) < 1e-5,
            "mean signals");
  }
}

void observe_all(benchmark::State& state, const std::vector<importance::AnyNotion>& notions) {
  std::vector<Epoch> epochs;
  for (std::uint32_t i = 0; i < 4; ++i) epochs.push_back(make_epoch(i));
  const importance::TableSpec spec{
      .examples = kExamples, .notions = notions, .truth = std::vector<float>(kExamples)};
  if (notions.size() == std::size(importance::kNotions)) {
    importance::ImportanceTable checked(spec);
    for (std::uint32_t i = 0; i < epochs.size(); ++i) observe(checked, i, epochs[i]);
    check(checked, epochs);
  }
  importance::ImportanceTable table(spec);
  std::uint32_t number = 0;
  std::vector<float> copy(importance::kSignalCount * kExamples);
  double ours = 0, copying = 0;
  for (auto _ : state) {
    const Epoch& epoch = epochs[number % epochs.size()];
    copying += seconds_of([&] {
      for (std::size_t s = 0; s < importance::kSignalCount; ++s) {
        std::copy(epoch.values.begin(), epoch.values.end(), copy.begin() + s * kExamples);
      }
      benchmark::DoNotOptimize(copy.data());
    });
    const double seconds = seconds_of([&] { observe(table, number, epoch); });
    ++number;
    ours += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["ns_per_example"] = 1e9 * ours / static_cast<double>(number) / kExamples;
  state.counters["ratio"] = ours / copying;
}

/// What happens between two intervals: importance of all examples, ranking, assignment to 4.
void repartition(benchmark::State& state, const importance::NotionEntry& notion) {
  importance::ImportanceTable table({.examples = kExamples, .notions = {notion}});
  const Epoch epochs[] = {make_epoch(0), make_epoch(1)};
  for (std::uint32_t number = 0; auto _ : state) {
    for (const Epoch& epoch : epochs) observe(table, number++, epoch);
    const std::vector<float> expected = table.importance(notion.name);
    placement::Partition partition({}, 1);
    std::vector<float> importance;
    state.SetIterationTime(seconds_of([&] {
      importance = table.close_window(notion.name);
      partition = placement::deal_in_stripes(importance, {.workers = 4});
    }));
    require(importance == expected, "the importance of the window");
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      require(partition.sizes()[worker] == kExamples / 4, "parts of one size");
    }
  }
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  namespace ib = impart::bench;
  const std::vector<impart::importance::AnyNotion> all(std::begin(impart::importance::kNotions),
                                                       std::end(impart::importance::kNotions));
  benchmark::RegisterBenchmark("observe/all", [&](benchmark::State& s) { ib::observe_all(s, all); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
  for (const auto& notion : impart::importance::kNotions) {
    const auto name = fmt::format("observe/{}", notion.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&](benchmark::State& s) { ib::observe_all(s, {notion}); })
        ->UseManualTime()
        ->MinTime(0.1)
        ->Unit(benchmark::kMillisecond);
  }
  for (const char* name : {"loss-average", "loss-variance"}) {
    const auto& notion = find_entry(impart::importance::kNotions, "notion", name);
    benchmark::RegisterBenchmark(fmt::format("repartition/{}", name).c_str(),
                                 [&](benchmark::State& s) { ib::repartition(s, notion); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
