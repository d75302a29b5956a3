// What an exact all-reduce costs beside a plain one, and a pending one beside both: the gradient of
// a ResNet-18, best of several rounds, one contribution per process.
//
//   mpirun -n 2 build/release/bin/comm_bench [ELEMENTS [ROUNDS [TIMEOUT]]]
//
// TIMEOUT, in seconds, is that of comm.timeout; 0 gives nobody up. What that costs is what
// liveness_bench measures.
//
// Checks the answers first: the plain sum against one made here, the exact one against the exact
// sum of all contributions in one process.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/check.h"
#include "impart/comm/communicator.h"
#include "impart/comm/exact_sum.h"
#include "impart/core/random.h"

namespace {

using impart::comm::Communicator;

std::vector<float> gradient_of(std::uint32_t rank, std::size_t elements) {
  impart::RandomStream random(
      {.seed = 1, .purpose = impart::Purpose("bench"), .worker = impart::WorkerId{rank}});
  std::vector<float> values(elements);
  for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
  return values;
}

void sum_exactly(Communicator& communicator, std::vector<float>& values) {
  const std::span<const float> mine = values;
  impart::comm::exact_all_reduce_sum(communicator, {&mine, 1}, values);
}

void check_answers(Communicator& communicator, const std::vector<float>& mine) {
  std::vector<std::vector<float>> all;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    all.push_back(gradient_of(rank, mine.size()));
  }
  const std::vector<std::span<const float>> contributions(all.begin(), all.end());
  std::vector<float> expected(mine.size());
  impart::comm::exact_all_reduce_sum(*impart::comm::make_single_communicator(), contributions,
                                     expected);

  std::vector<float> exact = mine, plain = mine;
  sum_exactly(communicator, exact);
  communicator.all_reduce_sum(plain);
  impart::bench::require(exact == expected, "exact sum");
  for (std::size_t i = 0; i < plain.size(); ++i) {
    impart::bench::require(std::fabs(plain[i] - expected[i]) <= 1e-5f, "plain sum");
  }
}

/// Seconds of the slowest process in the best round.
double best_of(int rounds, Communicator& communicator, const std::vector<float>& mine,
               const std::function<void(std::vector<float>&)>& reduce) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    std::vector<float> values = mine;
    communicator.barrier();
    double seconds[] = {impart::bench::seconds_of([&] { reduce(values); })};
    communicator.all_reduce_max(seconds);
    best = std::min(best, seconds[0]);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  impart::comm::CommunicatorSpec spec;
  if (argc > 3) spec.timeout = std::chrono::seconds(std::stoi(argv[3]));
  const auto communicator = impart::comm::make_communicator(spec);
  const std::size_t elements = argc > 1 ? std::stoull(argv[1]) : 11'000'000;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 10;
  const std::vector<float> mine = gradient_of(communicator->rank(), elements);
  check_answers(*communicator, mine);

  const auto print = [&](std::string_view name, double seconds, double baseline) {
    if (communicator->rank() != 0) return;
    fmt::print("{} processes, {} floats, {:<8} {:8.2f} ms, {:.2f} times the plain one\n",
               communicator->size(), elements, name, 1e3 * seconds, seconds / baseline);
  };
  const auto time = [&](const auto& reduce) {
    return best_of(rounds, *communicator, mine, reduce);
  };
  const double plain = time([&](std::vector<float>& v) { communicator->all_reduce_sum(v); });
  print("plain", plain, plain);
  print("pending",
        time([&](std::vector<float>& v) { communicator->start_all_reduce_sum(v)->wait(); }), plain);
  print("exact", time([&](std::vector<float>& v) { sum_exactly(*communicator, v); }), plain);
}
