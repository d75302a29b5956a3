// Caches of several processes that serve each other, against what one process knows by itself:
//
//   mpirun -n {1,2,4} cooperative_process_test FOLDER
//
// Every process plans for all, so that it knows what must be read from where.

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/store/cache/cached_store.h"
#include "impart/store/cache/source_rates.h"
#include "tests/store/store_checks.h"

namespace impart::store {
namespace {

using testing::GeneratedSource;
using testing::random_partition;
using testing::require;
using testing::sizes_of;

constexpr std::uint64_t kExamples = 403;
constexpr std::uint32_t kWorkers = 5;

/// Payloads of all sizes but 0, one of which nobody can read.
class FickleSource final : public data::PayloadSource {
 public:
  FickleSource(std::uint64_t bad, std::chrono::microseconds delay) : bad_(bad), delay_(delay) {}
  std::uint64_t examples() const override { return kExamples; }
  std::uint64_t payload_bytes(ExampleId id) const override {
    return inner_.payload_bytes(next(id));
  }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    if (index(id) == bad_) throw DataError("generated: is bad");
    std::this_thread::sleep_for(delay_);
    return inner_.read(next(id), payload);
  }
  bool is_remote() const override { return true; }
  std::string describe(ExampleId id) const override { return inner_.describe(next(id)); }
  std::vector<std::byte> payload(ExampleId id) const { return inner_.payload(next(id)); }

 private:
  /// Number 0 has no bytes.
  static ExampleId next(ExampleId id) { return ExampleId{index(id) + 1}; }

  GeneratedSource inner_{kExamples + 1, 300, true};
  std::uint64_t bad_;
  std::chrono::microseconds delay_;
};

struct Case {
  bool cooperative = true;
  MoveFrom move_from = MoveFrom::kPeer;
  bool keeps_parts = false;
  std::string disk = {};
  std::uint64_t bad = kExamples;  ///< an example that nobody can read
  std::string policy = "pin";
  std::chrono::microseconds delay{0};  ///< of each read of the source
};

class Check {
 public:
  Check(const Case& which, comm::Communicator& communicator)
      : case_(which),
        communicator_(communicator),
        hosted_(placement::hosted_workers(kWorkers, communicator.rank(), communicator.size())),
        source_(std::make_shared<FickleSource>(which.bad, which.delay)),
        store_(open()),
        plan_(plan_spec()) {
    store_->settle(random_partition(kExamples, kWorkers, 0));
  }

  /// Runs the steps of an epoch up to `last`, and compares with the plan.
  void run_epoch(std::uint32_t epoch, std::uint32_t last) {
    const auto partition =
        random_partition(kExamples, kWorkers, epoch / (case_.keeps_parts ? 2 : 1));
    const placement::StepPlan steps(partition.parts(), 9, placement::Uneven::kWeight);
    std::vector<float> worths(kExamples);
    for (std::size_t i = 0; i < kExamples; ++i) worths[i] = 1 + static_cast<float>(i * epoch % 3);
    const EpochReads reads{.steps = &steps,
                           .partition = &partition,
                           .keeps_parts = case_.keeps_parts,
                           .expected_visits = worths};
    const comm::Traffic before = communicator_.traffic();
    store_->begin_epoch(reads);
    for (std::uint32_t step = 0; step < std::min(last, steps.steps()); ++step) {
      store_->begin_step(step);
      read_step(steps, step);
      communicator_.barrier();  // as training adds up gradients
    }
    store_->end_epoch();
    const std::uint64_t sent =
        communicator_.traffic().bytes - before.bytes - bytes_of_comparing(epoch);
    // With kAuto, too: its sources here are slower than any network.
    check_costs(plan_.begin_epoch(reads, case_.move_from != MoveFrom::kSource), sent,
                last >= steps.steps());
  }

 private:
  const CachePolicyEntry& policy() const {
    return find_entry(kCachePolicies, "cache policy", case_.policy);
  }

  /// Of rates: four sums before each epoch, and a message before the first one.
  std::uint64_t bytes_of_comparing(std::uint32_t epoch) const {
    if (case_.move_from != MoveFrom::kAuto || communicator_.size() == 1) return 0;
    const std::uint64_t message = epoch == 0 ? 256 << 10 : 0;
    return communicator_.cost_of_all_reduce(4 * sizeof(double)).bytes + message;
  }

  std::unique_ptr<Store> open() {
    return make_cached_store({.workers = kWorkers,
                              .memory_bytes = kBytes,
                              .disk_path = case_.disk,
                              .disk_bytes = case_.disk.empty() ? 0 : kBytes,
                              .data_id = "generated",
                              .policy = &policy(),
                              .cooperative = case_.cooperative,
                              .move_from = case_.move_from,
                              .steps_ahead = kAhead},
                             communicator_, source_);
  }

  CachePlanSpec plan_spec() const {
    return {.examples = kExamples,
            .workers = kWorkers,
            .processes = communicator_.size(),
            .memory_bytes = kBytes,
            .disk_bytes = case_.disk.empty() ? 0 : kBytes,
            .worth = policy().function,
            .cooperative = case_.cooperative && communicator_.size() > 1,
            .sizes = sizes_of(*source_),
            .steps_ahead = kAhead};
  }

  void read_step(const placement::StepPlan& steps, std::uint32_t step) {
    std::vector<std::byte> payload;
    for (std::uint32_t w = hosted_.first; w < hosted_.first + hosted_.count; ++w) {
      for (const ExampleId id : steps.batch_of(WorkerId{w}, step)) {
        while (!store_->holds(id)) store_->advance_moves();
        if (index(id) == case_.bad) {
          bool was_thrown = false;
          try {
            store_->read(id, WorkerId{w}, payload);
          } catch (const DataError&) {
            was_thrown = true;
          }
          require(was_thrown, "nobody can read a bad example");
          continue;
        }
        store_->read(id, WorkerId{w}, payload);
        require(payload == source_->payload(id), fmt::format("payload {}", index(id)));
      }
    }
  }

  void check_costs(const EpochCaching& caching, std::uint64_t sent, bool is_whole) {
    StorageCost is;
    for (const StorageCost& cost : store_->take_costs()) {
      is.bytes_source += cost.bytes_source;
      is.bytes_peers += cost.bytes_peers;
      is.cache_hits += cost.cache_hits;
      is.cache_hits_disk += cost.cache_hits_disk;
      is.cache_hits_peers += cost.cache_hits_peers;
      is.cache_misses += cost.cache_misses;
    }
    if (!is_whole || case_.bad < kExamples) return;
    const CacheCounts& should = caching.processes[communicator_.rank()].counts;
    const auto equal = [](std::uint64_t a, std::uint64_t b, std::string_view what) {
      require(a == b, fmt::format("{}: {} instead of {}", what, a, b));
    };
    equal(is.cache_hits, should.memory_hits, "hits in memory");
    equal(is.cache_hits_disk, should.disk_hits, "hits on disk");
    equal(is.cache_hits_peers, should.peer_hits, "hits of peers");
    equal(is.cache_misses, should.misses, "misses");
    equal(is.bytes_source, should.bytes_missed, "bytes of the source");
    equal(is.bytes_peers, should.bytes_peers, "bytes of peers");
    std::uint64_t promised = 0;
    for (const CachePromise& promise : caching.promises) {
      const bool is_mine = promise.from == communicator_.rank();
      if (is_mine) promised += source_->payload_bytes(promise.id) + kFrameBytes;
    }
    equal(sent, promised, "bytes sent");
  }

  static constexpr std::uint64_t kBytes = 403 * 300 / 8;
  static constexpr std::uint32_t kAhead = 2;

  Case case_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  std::shared_ptr<FickleSource> source_;
  std::unique_ptr<Store> store_;
  CachePlan plan_;
};

/// Rates that no network has, of all processes or of one, decide for all alike.
void check_rates(comm::Communicator& communicator) {
  using std::chrono::hours, std::chrono::nanoseconds;
  const bool has_peers = communicator.size() > 1, is_first = communicator.rank() == 0;
  const auto choose = [&](SourceRates& rates, MoveFrom from) {
    return rates.choose_peers(from, communicator);
  };
  SourceRates rates;
  require(!choose(rates, MoveFrom::kAuto), "nothing was read: there is nothing to compare");
  require(choose(rates, MoveFrom::kPeer) == has_peers, "peers are asked for");
  if (is_first) rates.add_read(1, hours(1));
  require(choose(rates, MoveFrom::kAuto) == has_peers, "one process found the source slow");
  require(!choose(rates, MoveFrom::kSource), "the source is asked for");
  if (is_first) rates.add_read(std::uint64_t{1} << 60, nanoseconds(1));
  require(!choose(rates, MoveFrom::kAuto), "the source is faster on the whole");
}

constexpr std::uint32_t kAllSteps = 1'000;

void run_all(const std::string& folder, comm::Communicator& communicator) {
  check_rates(communicator);
  const Case cases[] = {
      {},
      {.cooperative = false, .keeps_parts = true},
      {.cooperative = false, .move_from = MoveFrom::kSource, .keeps_parts = true},
      {.cooperative = false,
       .move_from = MoveFrom::kAuto,
       .keeps_parts = true,
       .delay = std::chrono::microseconds(500)},
      {.keeps_parts = true},
      {.move_from = MoveFrom::kSource, .keeps_parts = true},
      {.disk = folder + "/cache"},
      {.bad = 17},
      {.policy = "importance"},
      {.keeps_parts = true, .policy = "importance"},
      {.cooperative = false,
       .keeps_parts = true,
       .disk = folder + "/others",
       .policy = "importance"},
  };
  for (const Case& which : cases) {
    Check check(which, communicator);
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) check.run_epoch(epoch, kAllSteps);
    check.run_epoch(5, 3);  // stopped in the middle
    communicator.barrier();
  }
}

}  // namespace
}  // namespace impart::store

int main(int argc, char** argv) {
  const auto communicator = impart::comm::make_communicator();
  try {
    impart::comm::run_job(*communicator,
                          [&] { impart::store::run_all(argc > 1 ? argv[1] : ".", *communicator); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
