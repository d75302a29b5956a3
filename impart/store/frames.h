#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "impart/store/flow.h"
#include "impart/store/shelf.h"

namespace impart::store {

/// Turns the examples of a flow into its pieces. A payload that fits into a piece goes there
/// straight from the shelf.
class FrameWriter {
 public:
  /// All must outlive it.
  FrameWriter(Shelf& shelf, const Flow& flow, const PayloadSizes& sizes);

  /// Fills the piece with the next bytes of the flow and returns how many: fewer than there is room
  /// for only at the end of the flow. Error if the shelf does not hold an example of the flow.
  std::size_t fill(std::span<std::byte> piece);

 private:
  void write_next(std::span<std::byte> frame);

  Shelf& shelf_;
  const Flow& flow_;
  const PayloadSizes& sizes_;
  std::size_t next_ = 0;                ///< example of the flow
  std::vector<std::byte> split_;        ///< a frame that spans pieces
  std::span<const std::byte> to_send_;  ///< what is left of it
};

/// Turns the pieces of a flow into examples again.
class FrameReader {
 public:
  /// Takes over one example. The payload is valid during the call only.
  using Sink =
      std::function<void(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash)>;

  /// All must outlive it.
  FrameReader(const Flow& flow, const PayloadSizes& sizes);

  /// Takes the next bytes of the flow and hands on the examples that are complete with them.
  /// DataError if a payload does not have the hash that came with it.
  void take(std::span<const std::byte> piece, const Sink& sink);

  /// How many examples are complete.
  std::size_t complete() const { return next_; }

 private:
  void hand_on(std::span<const std::byte> frame, const Sink& sink);

  const Flow& flow_;
  const PayloadSizes& sizes_;
  std::size_t next_ = 0;
  std::vector<std::byte> split_;  ///< the beginning of a frame that spans pieces
};

}  // namespace impart::store
