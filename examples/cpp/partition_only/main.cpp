// Who trains on what, without training: 10 000 examples with made-up importance, or those of a file
// (`partition_only scores.csv`), are dealt to 8 workers in stripes. Then the importance drifts, and
// they are dealt again, once anew and once sticky: the mix is as even, but far fewer have to move.

#include <cstdio>
#include <vector>

#include "impart/impart.h"

namespace {

constexpr std::uint32_t kWorkers = 8;

std::vector<double> make_scores() {
  impart::RandomStream random({.seed = 1, .purpose = impart::Purpose("example")});
  std::vector<double> scores(10'000);
  for (double& score : scores) score = random.exponential();
  return scores;
}

std::vector<double> read_scores(const char* path) {
  const impart::ScoresFile file(path);
  return file.scores().visit(
      [](auto values) { return std::vector<double>(values.begin(), values.end()); });
}

/// What another interval of training does to importance: a little of everything.
std::vector<double> drift(std::vector<double> scores) {
  impart::RandomStream random({.seed = 2, .purpose = impart::Purpose("example")});
  for (double& score : scores) score *= 1 + 0.05 * random.normal();
  return scores;
}

void print(const char* name, const impart::Partition& before, const impart::Partition& after,
           const std::vector<double>& scores) {
  const impart::Imbalance imbalance = impart::measure_imbalance(after, scores);
  const impart::MovePlan plan = impart::diff(before, after);
  std::printf("%-22s imbalance %.4f   examples moved %6zu   messages %3llu\n", name, imbalance.cv,
              plan.moves.size(), static_cast<unsigned long long>(plan.messages()));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<double> scores = argc > 1 ? read_scores(argv[1]) : make_scores();
  const auto random = impart::shuffle_evenly(scores, {.workers = kWorkers, .seed = 1});
  const auto stripes = impart::deal_in_stripes(scores, {.workers = kWorkers});
  print("random, then stripes", random, stripes, scores);

  const std::vector<double> later = drift(scores);
  print("  drifted, as it was", stripes, stripes, later);
  print("  stripes again", stripes, impart::deal_in_stripes(later, {.workers = kWorkers}), later);
  print("  sticky stripes", stripes,
        impart::deal_in_stripes(later, {.workers = kWorkers, .sticky_to = &stripes}), later);
  return 0;
} catch (const impart::Error& error) {
  std::fprintf(stderr, "partition_only: %s\n", error.what());
  return 1;
}
