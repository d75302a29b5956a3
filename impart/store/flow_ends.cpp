#include "impart/store/flow_ends.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::store {

FlowSender::FlowSender(const FlowSetup& setup, std::vector<Flow> flows)
    : setup_(setup), flows_(std::move(flows)) {}

std::size_t FlowSender::piece_bytes() {
  if (!writer_) open_next();
  return std::min(left_, setup_.flow.piece_bytes);
}

void FlowSender::open_next() {
  const Flow& flow = flows_[sending_];
  writer_.emplace(setup_.parts.shelf(flow.from), flow, setup_.sizes);
  left_ = bytes_of(flow, setup_.sizes);
}

void FlowSender::fill(std::span<std::byte> piece) {
  const Flow& flow = flows_[sending_];
  if (writer_->fill(piece) != piece.size()) throw Error("a flow ended before its last piece");
  left_ -= piece.size();
  StorageCost& cost = setup_.parts.cost(flow.from);
  cost.bytes_sent += piece.size();
  ++cost.sends;
  if (left_ > 0) return;
  cost.examples_sent += flow.moves.size();
  ++cost.flows_sent;
  writer_.reset();
  ++sending_;
}

void FlowSender::acknowledge(std::uint64_t stored) {
  const Flow& flow = flows_[acknowledging_];
  const std::uint64_t batch_end =
      std::min<std::uint64_t>(forgotten_ + setup_.flow.batch_examples, flow.moves.size());
  if (stored != batch_end) {
    throw Error(fmt::format("worker {} acknowledges {} examples from worker {} instead of {}",
                            index(flow.to), stored, index(flow.from), batch_end));
  }
  StorageCost& cost = setup_.parts.cost(flow.from);
  cost.bytes_received += kAcknowledgementBytes;
  ++cost.receives;
  for (; forgotten_ < stored; ++forgotten_) {
    setup_.parts.forget(flow.moves[forgotten_].example, flow.from);
  }
  setup_.parts.shelf(flow.from).flush();
  if (forgotten_ < flow.moves.size()) return;
  setup_.parts.tell("flow acknowledged");
  forgotten_ = 0;
  ++acknowledging_;
}

FlowReceiver::FlowReceiver(const FlowSetup& setup, std::vector<Flow> flows)
    : setup_(setup), flows_(std::move(flows)) {}

std::size_t FlowReceiver::ask() {
  if (!left_) left_ = bytes_of(flows_[asking_], setup_.sizes);
  const std::uint64_t bytes = std::min(*left_, setup_.flow.piece_bytes);
  *left_ -= bytes;
  if (*left_ == 0) {
    left_.reset();
    ++asking_;
  }
  return bytes;
}

void FlowReceiver::take(std::span<const std::byte> piece) {
  const Flow& flow = flows_[taking_];
  if (!reader_) reader_.emplace(flow, setup_.sizes);
  StorageCost& cost = setup_.parts.cost(flow.to);
  cost.bytes_received += piece.size();
  unsynced_ += piece.size();
  ++cost.receives;
  reader_->take(piece, [&](ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) {
    setup_.parts.put(id, flow.to, payload, hash);
    const std::uint64_t complete = reader_->complete();
    const bool last = complete == flow.moves.size();
    if (last || complete % setup_.flow.batch_examples == 0) stored_.push_back({flow.to, complete});
  });
  if (reader_->complete() < flow.moves.size()) return;
  cost.examples_received += flow.moves.size();
  ++cost.flows_received;
  reader_.reset();
  ++taking_;
}

std::vector<std::uint64_t> FlowReceiver::acknowledge() {
  std::vector<std::uint64_t> acknowledgements;
  if (stored_.empty()) return acknowledgements;
  const bool more_comes = taking_ < flows_.size() && unsynced_ < setup_.flow.sync_bytes;
  if (more_comes && setup_.parts.shelf(stored_.front().worker).syncs()) return acknowledgements;
  std::optional<WorkerId> synced;
  for (const Batch& batch : stored_) {
    if (batch.worker != synced) {
      setup_.parts.shelf(batch.worker).sync();
      setup_.parts.tell("batch stored");
      synced = batch.worker;
    }
    acknowledgements.push_back(batch.stored);
    StorageCost& cost = setup_.parts.cost(batch.worker);
    cost.bytes_sent += kAcknowledgementBytes;
    ++cost.sends;
  }
  stored_.clear();
  unsynced_ = 0;
  return acknowledgements;
}

}  // namespace impart::store
