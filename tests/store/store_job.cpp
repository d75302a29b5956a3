// A job of exchanges that may be killed, and that counts what it does, for fault_test.py and
// traffic_test.py:
//
//   mpirun -n P store_job KEY=VALUE ...
//
//   path=FOLDER          where the parts live; "" for memory
//   workers=N examples=N bytes=N piece=N batch=N sync=N varied=0|1
//   from=K               settles to random partition K
//   to=K                 then moves to K+1, K+2, … up to this one
//   kill=RANK:EVENT:COUNT[:settle]   process RANK kills itself at that event of the moves (or of
//                        settling); EVENT "any" is each
//   behind=0|1           a thread of the store moves, while this one adds up with the others
//   costs=FOLDER         writes costs-RANK.json there at the end: what the store and the
//                        communicator counted, and /proc/self/io before and after

#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/store/partitioned_store.h"
#include "tests/store/generated_source.h"

namespace impart::store {
namespace {

using Options = std::map<std::string, std::string>;
using nlohmann::json;
using testing::random_partition;

std::uint64_t number(const Options& options, const std::string& key, std::uint64_t otherwise) {
  const auto at = options.find(key);
  return at == options.end() ? otherwise : std::stoull(at->second);
}

std::string text(const Options& options, const std::string& key) {
  const auto at = options.find(key);
  return at == options.end() ? "" : at->second;
}

/// Kills this process, without a word, at the chosen event.
class Killer {
 public:
  Killer(const std::string& order, std::uint32_t rank) {
    if (order.empty()) return;
    std::vector<std::string> words(1);
    for (const char letter : order) {
      if (letter == ':') {
        words.emplace_back();
      } else {
        words.back() += letter;
      }
    }
    mine_ = words[0] == std::to_string(rank);
    event_ = words[1];
    left_ = std::stoull(words[2]);
    armed_ = words.size() > 3;
  }
  void arm() { armed_ = true; }
  void hear(std::string_view event) {
    if (!mine_ || !armed_ || (event_ != "any" && event_ != event)) return;
    if (left_-- == 0) ::kill(::getpid(), SIGKILL);
  }

 private:
  bool mine_ = false;
  bool armed_ = false;  ///< from the beginning, or from the first exchange
  std::string event_;
  std::uint64_t left_ = 0;
};

json io_counts() {
  std::ifstream file("/proc/self/io");
  json counts;
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;) counts[key] = value;
  return counts;
}

json to_json(const StorageCost& cost) {
  return {{"bytes_source", cost.bytes_source},
          {"bytes_local", cost.bytes_local},
          {"bytes_written", cost.bytes_written},
          {"bytes_sent", cost.bytes_sent},
          {"bytes_received", cost.bytes_received},
          {"sends", cost.sends},
          {"receives", cost.receives}};
}

/// Steps of training, until nobody's examples move any more.
void add_up_while_moving(comm::Communicator& communicator, Store& store) {
  for (std::vector<std::int64_t> moving = {1}; moving[0] > 0;) {
    moving[0] = store.advance_moves() ? 0 : 1;
    communicator.all_reduce_sum(moving);
  }
}

void run(const Options& options, comm::Communicator& communicator) {
  const auto examples = number(options, "examples", 600);
  const auto workers = static_cast<std::uint32_t>(number(options, "workers", communicator.size()));
  const auto source = std::make_shared<testing::GeneratedSource>(
      examples, number(options, "bytes", 1'000), number(options, "varied", 1) == 1);
  Killer killer(text(options, "kill"), communicator.rank());
  json record = {{"io_before", io_counts()}};
  auto store =
      make_partitioned_store({.workers = workers,
                              .path = text(options, "path"),
                              .data_id = "generated",
                              .flow = {.piece_bytes = number(options, "piece", 4'096),
                                       .batch_examples = number(options, "batch", 16),
                                       .sync_bytes = number(options, "sync", 8'192)},
                              .moves_behind = number(options, "behind", 0) == 1,
                              .observer = [&](std::string_view event) { killer.hear(event); }},
                             communicator, source);
  auto at = static_cast<std::uint32_t>(number(options, "from", 0));
  const auto last = static_cast<std::uint32_t>(number(options, "to", at));
  store->settle(random_partition(examples, workers, at));
  communicator.barrier();
  killer.arm();
  for (; at < last; ++at) {
    store->start_moves(placement::diff(random_partition(examples, workers, at),
                                       random_partition(examples, workers, at + 1)));
    if (number(options, "behind", 0) == 1) add_up_while_moving(communicator, *store);
    store->finish_moves();
    communicator.barrier();
  }
  record["io_after"] = io_counts();
  for (const StorageCost& cost : store->take_costs()) record["costs"].push_back(to_json(cost));
  record["traffic"] = {{"bytes", communicator.traffic().bytes},
                       {"messages", communicator.traffic().messages}};
  store.reset();
  const std::string folder = text(options, "costs");
  if (folder.empty()) return;
  std::ofstream(fmt::format("{}/costs-{}.json", folder, communicator.rank())) << record;
}

/// As the command `impart` does it.
int exit_code_of(const Options& options) {
  try {
    const auto communicator = comm::make_communicator();
    comm::run_job(*communicator, [&] { run(options, *communicator); });
    return 0;
  } catch (const PeerError& error) {
    fmt::print(stderr, "store_job: {}\n", error.what());
    return 75;
  } catch (const Error& error) {
    fmt::print(stderr, "store_job: {}\n", error.what());
    return 70;
  }
}

}  // namespace
}  // namespace impart::store

int main(int argc, char** argv) {
  impart::store::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return impart::store::exit_code_of(options);
}
