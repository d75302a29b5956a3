#include "impart/store/lanes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "impart/placement/hosted_workers.h"

namespace impart::store {
namespace {

/// A piece under way. Its buffer is freed after the operation is done with it.
struct Piece {
  PiecePool::Buffer buffer;
  std::size_t bytes = 0;
  std::unique_ptr<comm::PendingOperation> operation;

  std::span<std::byte> span() const { return {buffer.get(), bytes}; }
};

/// The pieces of a lane that are under way, at most `window`, in order.
class PieceQueue {
 public:
  PieceQueue(std::uint32_t window, PiecePool& pool) : window_(window), pool_(pool) {}

  bool full() const { return pieces_.size() == window_; }
  bool empty() const { return pieces_.empty(); }

  Piece& add(std::size_t bytes) {
    return pieces_.emplace_back(Piece{pool_.take(), bytes, nullptr});
  }
  bool first_is_done() { return !pieces_.empty() && pieces_.front().operation->test(); }
  const Piece& first() const { return pieces_.front(); }
  void remove_first() {
    pool_.give_back(std::move(pieces_.front().buffer));
    pieces_.pop_front();
  }

 private:
  std::uint32_t window_;
  PiecePool& pool_;
  std::deque<Piece> pieces_;
};

std::span<std::byte> bytes_of_number(std::uint64_t& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

class OutgoingLane final : public Lane {
 public:
  OutgoingLane(const FlowSetup& setup, std::uint32_t window, comm::Communicator& communicator,
               std::uint32_t to, std::vector<Flow> flows)
      : parts_(setup.parts),
        communicator_(communicator),
        to_(to),
        pieces_(window, setup.pool),
        flows_(setup, std::move(flows)) {}

  bool advance() override {
    while (pieces_.first_is_done()) {
      pieces_.remove_first();
      parts_.tell("piece sent");
    }
    while (!pieces_.full() && flows_.has_piece()) {
      Piece& piece = pieces_.add(flows_.piece_bytes());
      flows_.fill(piece.span());
      piece.operation = communicator_.start_send(piece.span(), to_, kPieceTag);
    }
    take_acknowledgements();
    return pieces_.empty() && !flows_.awaits();
  }

 private:
  void take_acknowledgements() {
    while (flows_.awaits()) {
      if (!answer_) {
        answer_ = communicator_.start_receive(bytes_of_number(stored_), to_, kAcknowledgementTag);
      }
      if (!answer_->test()) return;
      answer_.reset();
      flows_.acknowledge(stored_);
    }
  }

  HeldParts& parts_;
  comm::Communicator& communicator_;
  std::uint32_t to_;
  PieceQueue pieces_;
  FlowSender flows_;
  std::uint64_t stored_ = 0;  ///< what answer_ receives
  std::unique_ptr<comm::PendingOperation> answer_;
};

class IncomingLane final : public Lane {
 public:
  IncomingLane(const FlowSetup& setup, std::uint32_t window, comm::Communicator& communicator,
               std::uint32_t from, std::vector<Flow> flows)
      : parts_(setup.parts),
        communicator_(communicator),
        from_(from),
        window_(window),
        pieces_(window, setup.pool),
        flows_(setup, std::move(flows)) {}

  bool advance() override {
    ask_for_pieces();
    for (std::uint32_t i = 0; i < window_ && pieces_.first_is_done(); ++i) {
      parts_.tell("piece received");
      flows_.take(pieces_.first().span());
      pieces_.remove_first();
      ask_for_pieces();
    }
    for (const std::uint64_t stored : flows_.acknowledge()) {
      Answer& answer = answers_.emplace_back(Answer{stored, nullptr});
      answer.operation =
          communicator_.start_send(bytes_of_number(answer.stored), from_, kAcknowledgementTag);
      parts_.tell("batch acknowledged");
    }
    while (!answers_.empty() && answers_.front().operation->test()) answers_.pop_front();
    return flows_.complete() && answers_.empty();
  }

 private:
  struct Answer {
    std::uint64_t stored;
    std::unique_ptr<comm::PendingOperation> operation;
  };

  void ask_for_pieces() {
    while (!pieces_.full() && flows_.has_piece()) {
      Piece& piece = pieces_.add(flows_.ask());
      piece.operation = communicator_.start_receive(piece.span(), from_, kPieceTag);
    }
  }

  HeldParts& parts_;
  comm::Communicator& communicator_;
  std::uint32_t from_;
  std::uint32_t window_;
  PieceQueue pieces_;
  FlowReceiver flows_;
  std::deque<Answer> answers_;  ///< under way
};

/// Between workers of this process: the same pieces and answers, but they need not travel.
class LocalLane final : public Lane {
 public:
  LocalLane(const FlowSetup& setup, const std::vector<Flow>& flows)
      : parts_(setup.parts),
        pool_(setup.pool),
        buffer_(setup.pool.take()),
        sender_(setup, flows),
        receiver_(setup, flows) {}

  ~LocalLane() override { pool_.give_back(std::move(buffer_)); }

  bool advance() override {
    if (sender_.has_piece()) {
      const std::span piece(buffer_.get(), sender_.piece_bytes());
      sender_.fill(piece);
      parts_.tell("piece sent");
      receiver_.take(piece);
      parts_.tell("piece received");
    }
    for (const std::uint64_t stored : receiver_.acknowledge()) {
      parts_.tell("batch acknowledged");
      sender_.acknowledge(stored);
    }
    return !sender_.awaits();
  }

 private:
  HeldParts& parts_;
  PiecePool& pool_;
  PiecePool::Buffer buffer_;
  FlowSender sender_;
  FlowReceiver receiver_;
};

/// Within a lane the flows go by distance, too. Both ends sort alike.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Flow>> sort_into_lanes(
    const placement::MovePlan& plan, std::uint32_t workers, std::uint32_t processes) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Flow>> lanes;
  for (const Flow& flow : cut_into_flows(plan)) {
    const std::uint32_t from = placement::hosting_process(flow.from, workers, processes);
    const std::uint32_t to = placement::hosting_process(flow.to, workers, processes);
    lanes[{from, to}].push_back(flow);
  }
  const auto key = [workers](const Flow& flow) {
    const std::uint32_t from = index(flow.from), to = index(flow.to);
    return std::pair((to + workers - from) % workers, from);
  };
  for (auto& [ends, flows] : lanes) {
    std::sort(flows.begin(), flows.end(),
              [&](const Flow& a, const Flow& b) { return key(a) < key(b); });
  }
  return lanes;
}

bool advance_some(std::deque<std::unique_ptr<Lane>>& lanes, std::size_t at_once) {
  std::size_t running = std::min(lanes.size(), at_once);
  for (std::size_t i = 0; i < running;) {
    if (!lanes[i]->advance()) {
      ++i;
      continue;
    }
    lanes.erase(lanes.begin() + static_cast<std::ptrdiff_t>(i));
    --running;
  }
  return lanes.empty();
}

}  // namespace

LaneRun::LaneRun(const placement::MovePlan& plan, const FlowSetup& setup, const LaneSpec& spec,
                 comm::Communicator& communicator)
    : at_once_(spec.at_once) {
  const std::uint32_t processes = communicator.size(), mine = communicator.rank();
  auto lanes = sort_into_lanes(plan, spec.workers, processes);
  for (std::uint32_t distance = 0; distance < processes; ++distance) {
    const std::uint32_t to = (mine + distance) % processes;
    const std::uint32_t from = (mine + processes - distance) % processes;
    const auto out = lanes.find({mine, to}), in = lanes.find({from, mine});
    if (distance == 0) {
      if (out != lanes.end()) within_.push_back(std::make_unique<LocalLane>(setup, out->second));
      continue;
    }
    if (out != lanes.end()) {
      outgoing_.push_back(std::make_unique<OutgoingLane>(setup, spec.window, communicator, to,
                                                         std::move(out->second)));
    }
    if (in != lanes.end()) {
      incoming_.push_back(std::make_unique<IncomingLane>(setup, spec.window, communicator, from,
                                                         std::move(in->second)));
    }
  }
}

bool LaneRun::advance() {
  const bool within = advance_some(within_, at_once_);
  const bool incoming = advance_some(incoming_, at_once_);
  const bool outgoing = advance_some(outgoing_, at_once_);
  return within && incoming && outgoing;
}

}  // namespace impart::store
