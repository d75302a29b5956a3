// A hundred million examples dealt to 4 096 workers: seconds, and bytes of memory per example on
// top of the scores.
//
//   build/release/bin/scale_bench [EXAMPLES [WORKERS]]
//
// Checks the answer by walking down the ranking: scores must not rise, ids must rise among ties,
// and workers must take turns.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/ranking.h"

namespace {

std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

bool is_stripes(const std::vector<float>& scores, const impart::placement::Partition& partition) {
  std::uint64_t rank = 0;
  bool right = true;
  impart::ExampleId last{0};
  impart::placement::visit_by_importance(scores, [&](std::span<const impart::ExampleId> run) {
    for (const impart::ExampleId id : run) {
      const float score = scores[index(id)], before = scores[index(last)];
      right = right && (rank == 0 || score < before || (score == before && last < id));
      right = right && index(partition.owner(id)) == rank % partition.workers();
      last = id;
      ++rank;
    }
  });
  return right && rank == scores.size();
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t examples = argc > 1 ? std::stoull(argv[1]) : 100'000'000;
  const auto workers = static_cast<std::uint32_t>(argc > 2 ? std::stoul(argv[2]) : 4'096);
  impart::RandomStream random({.seed = 1, .purpose = impart::Purpose("bench")});
  std::vector<float> scores(examples);
  for (float& score : scores) score = static_cast<float>(random.exponential());

  const std::uint64_t before = peak_bytes();
  impart::placement::Partition partition({}, 1);
  const double seconds = impart::bench::seconds_of(
      [&] { partition = impart::placement::deal_in_stripes(scores, {.workers = workers}); });
  const double bytes = static_cast<double>(peak_bytes() - before) / static_cast<double>(examples);
  std::vector<float> copy(examples);
  const double copying =
      impart::bench::seconds_of([&] { std::copy(scores.begin(), scores.end(), copy.begin()); });
  impart::bench::require(is_stripes(scores, partition), "stripes");
  fmt::print(
      "stripes of {} examples over {} workers: {:.2f} s, {:.1f} ns and {:.1f} bytes per "
      "example, {:.0f} times as long as copying the scores\n",
      examples, workers, seconds, 1e9 * seconds / static_cast<double>(examples), bytes,
      seconds / copying);
}
