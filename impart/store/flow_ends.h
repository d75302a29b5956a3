#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "impart/store/flow.h"
#include "impart/store/frames.h"
#include "impart/store/held_parts.h"

namespace impart::store {

/// Buffers of one piece each, used again from exchange to exchange: fresh memory costs a page fault
/// for every 4 KiB.
class PiecePool {
 public:
  using Buffer = std::unique_ptr<std::byte[]>;

  explicit PiecePool(std::uint64_t piece_bytes) : piece_bytes_(piece_bytes) {}

  Buffer take() {
    if (spare_.empty()) return std::make_unique_for_overwrite<std::byte[]>(piece_bytes_);
    Buffer buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }
  void give_back(Buffer buffer) { spare_.push_back(std::move(buffer)); }

 private:
  std::uint64_t piece_bytes_;
  std::vector<Buffer> spare_;
};

/// What the two ends of a flow need; all must outlive them.
struct FlowSetup {
  HeldParts& parts;
  PiecePool& pool;
  PayloadSizes sizes;
  FlowSpec flow;
};

/// The sending end of some flows, one after the other: hands out their pieces, and forgets what is
/// acknowledged. Books the cost to the senders.
class FlowSender {
 public:
  FlowSender(const FlowSetup& setup, std::vector<Flow> flows);

  /// Whether there are pieces to send.
  bool has_piece() const { return sending_ < flows_.size(); }
  /// Bytes of the next piece.
  std::size_t piece_bytes();
  /// Fills a piece of piece_bytes() bytes.
  void fill(std::span<std::byte> piece);

  /// Whether an acknowledgement must still come.
  bool awaits() const { return acknowledging_ < flows_.size(); }
  /// The receiver has stored so many examples of the flow: those are forgotten. Error if that is
  /// not the end of the next batch.
  void acknowledge(std::uint64_t stored);

 private:
  void open_next();

  const FlowSetup& setup_;
  std::vector<Flow> flows_;
  std::size_t sending_ = 0;
  std::optional<FrameWriter> writer_;  ///< of flow sending_
  std::uint64_t left_ = 0;             ///< bytes of it
  std::size_t acknowledging_ = 0;
  std::uint64_t forgotten_ = 0;  ///< examples of flow acknowledging_
};

/// The receiving end of the same flows: puts the examples of arriving pieces on the shelves. Books
/// the cost to the receivers.
class FlowReceiver {
 public:
  FlowReceiver(const FlowSetup& setup, std::vector<Flow> flows);

  /// Whether there are pieces to ask for.
  bool has_piece() const { return asking_ < flows_.size(); }
  /// Bytes of the next piece to ask for; moves on to the one after it.
  std::size_t ask();

  /// Takes the next piece, in the order of asking.
  void take(std::span<const std::byte> piece);
  bool complete() const { return taking_ == flows_.size() && stored_.empty(); }

  /// Makes what has arrived last, and returns the acknowledgements for it, in order: how many
  /// examples of a flow are stored, at the end of each batch. Nothing while more should come first.
  std::vector<std::uint64_t> acknowledge();

 private:
  struct Batch {
    WorkerId worker;
    std::uint64_t stored;
  };

  const FlowSetup& setup_;
  std::vector<Flow> flows_;
  std::size_t asking_ = 0;
  std::optional<std::uint64_t> left_;  ///< bytes to ask for of flow asking_
  std::size_t taking_ = 0;
  std::optional<FrameReader> reader_;  ///< of flow taking_
  std::vector<Batch> stored_;          ///< and not yet acknowledged
  std::uint64_t unsynced_ = 0;         ///< bytes taken since the last sync
};

}  // namespace impart::store
