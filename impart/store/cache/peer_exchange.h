#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/core/ids.h"
#include "impart/store/cache/cache_plan.h"
#include "impart/store/flow.h"

namespace impart::store {

/// Carries out the promises of an epoch between the caches of processes. Both ends know what is
/// promised for which step, so nobody asks: for each step and pair of processes one message (or
/// several of at most kMessageBytes) with, for each example in the order of the receiver's visits,
/// the xxh3-64 of its payload and the payload.
///
/// Who is at a step has started to send all that others need up to that step and some steps ahead,
/// so whoever waits in a collective has nothing left to start: those that are behind get theirs.
///
/// promises(), awaits() and take() may be called by any thread, all else by the thread that uses
/// the communicator.
class PeerExchange {
 public:
  static constexpr std::uint64_t kMessageBytes = std::uint64_t{64} << 20;
  /// Gives the payload of an example that is kept here; false if it cannot be had.
  using Fetch = std::function<bool(ExampleId, std::vector<std::byte>&)>;

  /// The communicator must outlive it. `steps_ahead` bounds memory: what is on its way and not yet
  /// visited is of at most so many steps and the current one.
  PeerExchange(comm::Communicator& communicator, PayloadSizes sizes, std::uint32_t steps_ahead);

  /// The promises of an epoch. Nothing may be under way.
  void begin(std::span<const CachePromise> promises);
  /// Starts all messages up to a step and those ahead. Every process calls it for the same steps.
  void begin_step(std::uint32_t step, const Fetch& fetch);
  /// Takes in what has come.
  void advance();
  /// Waits for all messages that were started, and forgets the epoch.
  void finish();

  /// Whether an example comes from another process, or has come and is not taken.
  bool promises(ExampleId id) const;
  /// Whether a promised example has yet to come.
  bool awaits(ExampleId id) const;
  /// What became of an example that a reader looks for.
  enum class Taken { kNotPromised, kHere, kBroken };  ///< broken: the sender did not have it
  Taken take(ExampleId id, std::vector<std::byte>& payload);

  std::uint64_t bytes_received() const { return bytes_received_; }

 private:
  struct Message {
    std::uint32_t step = 0;
    std::uint64_t bytes = 0;
    std::vector<CachePromise> promises = {};
    std::unique_ptr<std::byte[]> buffer = {};
    std::unique_ptr<comm::PendingOperation> operation = {};  ///< before its buffer goes, it ends
  };
  /// Messages between this process and another, one way.
  struct Lane {
    std::deque<Message> waiting, under_way;
  };
  struct Arrival {
    std::vector<std::byte> payload = {};
    std::uint32_t visits = 0;  ///< that are left
    bool has_come = false, is_broken = false;
  };

  void add(Lane& lane, const CachePromise& promise);
  void start(std::uint32_t last_step, const Fetch& fetch);
  void fill(Message& message, const Fetch& fetch);
  void unpack(const Message& message);

  comm::Communicator& communicator_;
  PayloadSizes sizes_;
  std::uint32_t steps_ahead_;
  std::vector<Lane> outgoing_, incoming_;  ///< by process
  std::atomic<bool> is_open_ = false;      ///< whether anything is promised to this process
  mutable std::mutex mutex_;
  std::unordered_map<ExampleId, Arrival> arrivals_;
  std::uint64_t bytes_received_ = 0;
};

}  // namespace impart::store
