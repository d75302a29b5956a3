#include "impart/store/cache/source_rates.h"

#include <array>
#include <span>
#include <thread>
#include <vector>

namespace impart::store {
namespace {

constexpr std::uint32_t kProbeTag = 5;
constexpr std::size_t kProbeBytes = std::size_t{256} << 10;

TimedBytes probe_network(comm::Communicator& communicator) {
  const std::uint32_t processes = communicator.size(), mine = communicator.rank();
  const std::vector<std::byte> sent(kProbeBytes);
  std::vector<std::byte> received(kProbeBytes);
  communicator.barrier();
  const auto start = std::chrono::steady_clock::now();
  const auto receiving =
      communicator.start_receive(received, (mine + processes - 1) % processes, kProbeTag);
  const auto sending = communicator.start_send(sent, (mine + 1) % processes, kProbeTag);
  bool is_received = false, is_sent = false;
  while (!is_received || !is_sent) {
    is_received = is_received || receiving->test();
    is_sent = is_sent || sending->test();
    std::this_thread::yield();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {static_cast<double>(kProbeBytes), took.count()};
}

}  // namespace

bool peers_are_faster(const TimedBytes& source, const TimedBytes& network) {
  if (network.seconds <= 0) return false;
  return network.bytes * source.seconds > source.bytes * network.seconds;
}

bool SourceRates::choose_peers(MoveFrom move_from, comm::Communicator& communicator) {
  if (communicator.size() == 1) return false;
  if (move_from != MoveFrom::kAuto) return move_from == MoveFrom::kPeer;
  if (network_.bytes == 0) network_ = probe_network(communicator);
  std::array<double, 4> all = {static_cast<double>(bytes_.load()),
                               static_cast<double>(nanoseconds_.load()) * 1e-9, network_.bytes,
                               network_.seconds};
  communicator.all_reduce_sum(std::span<double>(all));
  return peers_are_faster({all[0], all[1]}, {all[2], all[3]});
}

}  // namespace impart::store
