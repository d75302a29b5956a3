#include "impart/cost/cluster/cluster_messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cost {

class ClusterCommunicator final : public comm::Communicator {
 public:
  ClusterCommunicator(ClusterMessages& messages, std::uint32_t rank, std::uint32_t size,
                      const double& clock)
      : Communicator(rank, size), messages_(messages), clock_(clock) {}

  void wait_until(const std::function<bool()>&) override { refuse(); }
  void announce_failure(std::string_view) noexcept override {}

 private:
  class Operation final : public comm::PendingOperation {
   public:
    explicit Operation(ClusterMessages::Shared message) : message_(std::move(message)) {}
    bool test() override { return message_->done; }
    void wait() override { refuse(); }

   private:
    ClusterMessages::Shared message_;
  };

  [[noreturn]] static void refuse() {
    throw Error("a simulated process cannot wait, nor take part in a collective");
  }

  void do_barrier() override { refuse(); }
  void do_broadcast(std::span<std::byte>, std::uint32_t) override { refuse(); }
  void do_all_reduce(const Values&, Reduction) override { refuse(); }
  std::unique_ptr<comm::PendingOperation> do_start_all_reduce(const Values&, Reduction) override {
    refuse();
  }
  void do_all_gather(std::span<const std::byte>, std::span<const std::size_t>,
                     std::span<std::byte>) override {
    refuse();
  }
  std::unique_ptr<comm::PendingOperation> do_start_send(std::span<const std::byte> bytes,
                                                        std::uint32_t to,
                                                        std::uint32_t tag) override {
    return std::make_unique<Operation>(messages_.ask(
        {.from = rank(), .to = to, .tag = tag, .source = bytes.data(), .bytes = bytes.size()},
        clock_));
  }
  std::unique_ptr<comm::PendingOperation> do_start_receive(std::span<std::byte> bytes,
                                                           std::uint32_t from,
                                                           std::uint32_t tag) override {
    return std::make_unique<Operation>(messages_.ask(
        {.from = from, .to = rank(), .tag = tag, .target = bytes.data(), .bytes = bytes.size()},
        clock_));
  }

  ClusterMessages& messages_;
  const double& clock_;
};

ClusterMessages::ClusterMessages(FluidNetwork& network, DeclaredBytes declared)
    : network_(network), declared_(std::move(declared)) {}

std::unique_ptr<comm::Communicator> ClusterMessages::communicator(std::uint32_t rank,
                                                                  std::uint32_t size,
                                                                  const double& clock) {
  is_touched_.resize(size);
  return std::make_unique<ClusterCommunicator>(*this, rank, size, clock);
}

ClusterMessages::Shared ClusterMessages::ask(Message wish, double clock) {
  ++asked_;
  const bool sends = wish.source != nullptr;
  const std::uint64_t key = (std::uint64_t{wish.from} << 24 | wish.to) << 16 | wish.tag;
  Channel& channel = channels_[key];
  std::deque<Shared>& mine = sends ? channel.sends : channel.receives;
  std::deque<Shared>& others = sends ? channel.receives : channel.sends;
  if (others.empty()) {
    wish.asked = clock;
    mine.push_back(std::make_shared<Message>(wish));
    return mine.back();
  }
  Shared message = std::move(others.front());
  others.pop_front();
  if (message->bytes != wish.bytes) {
    throw Error(fmt::format("process {} sends and process {} expects messages of {} and {} bytes",
                            wish.from, wish.to, sends ? wish.bytes : message->bytes,
                            sends ? message->bytes : wish.bytes));
  }
  if (sends) {
    message->source = wish.source;
  } else {
    message->target = wish.target;
  }
  message->asked = std::max(message->asked, clock);
  if (channel.sends.empty() && channel.receives.empty()) channels_.erase(key);
  begin(message);
  return message;
}

void ClusterMessages::begin(const Shared& message) {
  std::uint64_t name = under_way_.size();
  if (free_names_.empty()) {
    under_way_.push_back(message);
  } else {
    name = free_names_.back();
    free_names_.pop_back();
    under_way_[name] = message;
  }
  ++messages_;
  network_.start(message->from, message->to, declared_(message->bytes, message->tag),
                 message->asked, name);
}

void ClusterMessages::note_process(std::uint32_t rank) {
  if (is_touched_[rank]) return;
  is_touched_[rank] = true;
  touched_.push_back(rank);
}

const std::vector<std::uint32_t>& ClusterMessages::advance(double limit) {
  for (const std::uint32_t rank : touched_) is_touched_[rank] = false;
  touched_.clear();
  for (const std::uint64_t name : network_.advance(limit)) {
    const Shared message = std::move(under_way_[name]);
    free_names_.push_back(name);
    if (message->bytes > 0) std::memcpy(message->target, message->source, message->bytes);
    message->done = true;
    note_process(message->from);
    note_process(message->to);
  }
  return touched_;
}

}  // namespace impart::cost
