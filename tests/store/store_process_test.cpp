// Exchanges between processes, against what one process knows by itself. Run it with several sizes:
//
//   mpirun -n {1,2,4} store_process_test FOLDER
//
// Every process makes all partitions and payloads, so that it knows what must come out.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/placement/exchanges.h"
#include "impart/store/partitioned_store.h"
#include "tests/store/store_checks.h"

namespace impart::store {
namespace {

using testing::check_costs;
using testing::check_settled;
using testing::GeneratedSource;
using testing::random_partition;
using testing::require;
using testing::sizes_of;

constexpr std::uint64_t kExamples = 401;
constexpr FlowSpec kSmallPieces{.piece_bytes = 1'000, .batch_examples = 9, .sync_bytes = 20'000};

struct Case {
  std::uint32_t workers;
  std::string path;
  bool behind = false;  ///< a thread of the store moves, while this one adds up and reads
};

class Check {
 public:
  Check(const Case& which, comm::Communicator& communicator)
      : case_(which),
        communicator_(communicator),
        hosted_(placement::hosted_workers(which.workers, communicator.rank(), communicator.size())),
        store_(open()) {
    store_->settle(partition_);
    check_settled(*store_, partition_, *source_, hosted_);
    store_->take_costs();
  }

  /// Carries out one exchange and checks what it leaves, what it costs and what it holds meanwhile.
  void move_to(const placement::Partition& next) {
    const placement::MovePlan plan = placement::diff(partition_, next);
    const comm::Traffic before = communicator_.traffic();
    store_->start_moves(plan);
    const comm::Traffic sums = case_.behind ? add_up() : comm::Traffic{};
    while (!store_->advance_moves()) read_one_that_stays(next);
    const comm::Traffic after = communicator_.traffic();
    check_flows(plan, next, after.bytes - before.bytes - sums.bytes,
                after.messages - before.messages - sums.messages);
    check_settled(*store_, next, *source_, hosted_);
    store_->take_costs();
    partition_ = next;
  }

  void open_again() {
    store_.reset();
    communicator_.barrier();
    store_ = open();
    store_->settle(partition_);
    check_settled(*store_, partition_, *source_, hosted_);
    for (const StorageCost& cost : store_->take_costs()) {
      require(case_.path.empty() == (cost.bytes_source > 0), "what is read from the source again");
    }
  }

  const placement::Partition& partition() const { return partition_; }

 private:
  std::unique_ptr<Store> open() {
    return make_partitioned_store({.workers = case_.workers,
                                   .path = case_.path,
                                   .data_id = "generated",
                                   .flow = kSmallPieces,
                                   .window = 2,
                                   .moves_behind = case_.behind},
                                  communicator_, source_);
  }

  /// As training steps do; what that sent.
  comm::Traffic add_up() {
    comm::Traffic sent;
    for (int step = 0; step < 5; ++step) {
      std::vector<float> gradient(5'000, 1.0f);
      communicator_.all_reduce_sum(gradient);
      require(gradient.back() == static_cast<float>(communicator_.size()), "a sum beside moves");
      const comm::Traffic cost = communicator_.cost_of_all_reduce(gradient.size() * sizeof(float));
      sent = {.bytes = sent.bytes + cost.bytes, .messages = sent.messages + cost.messages};
    }
    return sent;
  }

  void read_one_that_stays(const placement::Partition& next) {
    const ExampleId id{probe_++ % kExamples};
    const WorkerId owner = next.owner(id);
    if (partition_.owner(id) != owner || !hosted_.contains(owner)) return;
    std::vector<std::byte> payload;
    store_->read(id, owner, payload);
    require(payload == source_->payload(id), "a payload that stays");
    read_ += case_.path.empty() ? 0 : payload.size();
  }

  void check_flows(const placement::MovePlan& plan, const placement::Partition& next,
                   std::uint64_t bytes, std::uint64_t messages) {
    const auto predicted = predict_move_costs(
        plan, sizes_of(*source_),
        {.workers = case_.workers, .flow = kSmallPieces, .directory = !case_.path.empty()});
    std::vector<StorageCost> costs = store_->take_costs();
    std::uint64_t local = 0, expected = 0;
    for (std::uint32_t i = 0; i < hosted_.count; ++i) {
      local += costs[i].bytes_local;
      expected += predicted[hosted_.first + i].bytes_local;
      costs[i].bytes_local = predicted[hosted_.first + i].bytes_local;
    }
    require(local == expected + read_, "bytes read locally");
    read_ = 0;
    check_costs(costs, hosted_, predicted, partition_.sizes());
    if (communicator_.size() == case_.workers && case_.workers > 1) {
      require(bytes == costs[0].bytes_sent, "bytes that went through the communicator");
      require(messages == costs[0].sends, "messages through the communicator");
    }
    std::vector<std::int64_t> flows = {0};
    for (const StorageCost& cost : costs) flows[0] += static_cast<std::int64_t>(cost.flows_sent);
    communicator_.all_reduce_sum(flows);
    require(flows[0] == static_cast<std::int64_t>(plan.messages()), "the number of flows");
    require(next.examples() == kExamples, "examples");
  }

  Case case_;
  comm::Communicator& communicator_;
  placement::HostedWorkers hosted_;
  std::shared_ptr<GeneratedSource> source_ =
      std::make_shared<GeneratedSource>(kExamples, 700, true);
  placement::Partition partition_ = random_partition(kExamples, case_.workers, 0);
  std::unique_ptr<Store> store_;
  std::uint64_t probe_ = 0;
  std::uint64_t read_ = 0;  ///< bytes from disk beside the moves
};

void check_case(const Case& which, comm::Communicator& communicator) {
  Check check(which, communicator);
  std::vector<float> importance(kExamples);
  for (std::uint64_t i = 0; i < kExamples; ++i) importance[i] = static_cast<float>(i * 7 % 31);
  for (std::uint32_t number = 1; number < 4; ++number) {
    check.move_to(random_partition(kExamples, which.workers, number));
    for (const placement::ExchangeEntry& entry : placement::kExchanges) {
      check.move_to(entry.function(check.partition(), importance,
                                   {.fraction = 0.3, .seed = number, .epoch = number}));
    }
  }
  check.open_again();
  check.move_to(random_partition(kExamples, which.workers, 9));
}

void check_everything(comm::Communicator& communicator, const std::string& folder) {
  for (const std::uint32_t workers : {1u, 4u, 5u}) {
    if (workers < communicator.size()) continue;
    for (const bool behind : {false, true}) {
      const std::string path =
          fmt::format("{}/{}-{}-{}", folder, communicator.size(), workers, behind);
      check_case({workers, "", behind}, communicator);
      check_case({workers, path, behind}, communicator);
    }
  }
}

}  // namespace
}  // namespace impart::store

int main(int, char** argv) {
  try {
    const auto communicator = impart::comm::make_communicator();
    impart::comm::run_job(*communicator,
                          [&] { impart::store::check_everything(*communicator, argv[1]); });
    if (communicator->rank() == 0) fmt::print("{} processes: right\n", communicator->size());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "store_process_test: {}\n", error.what());
    return 1;
  }
}
