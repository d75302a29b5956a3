// How evenly workers visit what a selection leaves, and what that makes of an epoch.
//
//   build/release/bin/visits_bench [SEEDS]
//
// The easiest 40 % of all examples are hidden, wherever they are (prune, and kakurenbo that is sure
// of everything, with selection.scope: all); infobatch hides half of those below the mean of all.
// Parts are dealt in stripes by the same losses, or at random. Largest over mean are the workers'
// visits; workers wait for each other in every step, so an epoch takes as long as the fullest one:
// `time` is that to an epoch that visits everything, `ideal` what it would be if all were as full
// as the mean. Means over seeds, and the largest. Losses are drawn from an exponential
// distribution.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"

namespace impart::bench {
namespace {

constexpr double kShare = 0.4;

struct Size {
  std::uint32_t workers = 0;
  std::uint64_t part = 0;  ///< examples of each
};

struct Evenness {
  double mean = 0, largest = 0;  ///< of largest over mean, over seeds
  double time = 0, ideal = 0;    ///< of an epoch, to one that visits everything
};

std::vector<float> draw_losses(std::uint64_t examples, std::uint64_t seed) {
  RandomStream random({.seed = seed, .purpose = Purpose("bench")});
  std::vector<float> losses(examples);
  for (float& loss : losses) loss = static_cast<float>(random.exponential());
  return losses;
}

placement::VisitCounts select(const placement::SelectionEntry& selection,
                              placement::Heuristic& heuristic, const Size& size,
                              std::uint64_t seed) {
  const auto losses = draw_losses(size.workers * size.part, seed);
  const std::vector<std::uint8_t> correct(losses.size(), 1);
  const placement::Parts parts = heuristic(losses, {.workers = size.workers, .seed = seed}).parts();
  const bool is_infobatch = selection.function == placement::hide_below_mean;
  const auto selected = placement::select_visits(
      selection, {.parts = parts, .examples = losses.size(), .scores = losses, .correct = correct},
      {.seed = seed,
       .share = is_infobatch ? 0.5 : kShare,
       .scope = placement::SelectionScope::kAll,
       .confidence = 1e-9});
  const auto counts = placement::count_visits(selected, losses.size());
  const auto hidden = static_cast<double>(counts.hidden) / static_cast<double>(losses.size());
  require(is_infobatch ? hidden > 0.25 && hidden < 0.4 : std::abs(hidden - kShare) < 1e-4,
          "share that is hidden");
  return counts;
}

Evenness measure(const placement::SelectionEntry& selection, placement::Heuristic& heuristic,
                 const Size& size, int seeds) {
  Evenness found;
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto counts = select(selection, heuristic, size, static_cast<std::uint64_t>(seed));
    const double ideal =
        static_cast<double>(counts.visits) / static_cast<double>(size.workers * size.part);
    found.mean += counts.max_over_mean / seeds;
    found.largest = std::max(found.largest, counts.max_over_mean);
    found.ideal += ideal / seeds;
    found.time += counts.max_over_mean * ideal / seeds;
  }
  return found;
}

void run(int seeds) {
  require(seeds > 0, "SEEDS is 1 or more");
  fmt::print("{:>7} {:>5}  {:<10} {:<8} {:>13} {:>8} {:>7} {:>7}\n", "workers", "part", "selection",
             "parts", "largest/mean", "at most", "time", "ideal");
  for (const Size& size : {Size{128, 390}, Size{2048, 24}}) {
    for (const char* name : {"prune", "kakurenbo", "infobatch"}) {
      const auto& selection = find_entry(placement::kSelections, "selection", name);
      for (const bool stripes : {true, false}) {
        const Evenness found =
            measure(selection, stripes ? placement::deal_in_stripes : placement::shuffle_evenly,
                    size, seeds);
        fmt::print("{:>7} {:>5}  {:<10} {:<8} {:>13.4f} {:>8.4f} {:>7.3f} {:>7.3f}\n", size.workers,
                   size.part, name, stripes ? "stripes" : "random", found.mean, found.largest,
                   found.time, found.ideal);
      }
    }
  }
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  impart::bench::run(argc > 1 ? std::atoi(argv[1]) : 20);
}
