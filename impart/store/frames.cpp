#include "impart/store/frames.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/payload_hash.h"

namespace impart::store {

FrameWriter::FrameWriter(Shelf& shelf, const Flow& flow, const PayloadSizes& sizes)
    : shelf_(shelf), flow_(flow), sizes_(sizes) {}

std::size_t FrameWriter::fill(std::span<std::byte> piece) {
  std::size_t filled = 0;
  while (filled < piece.size()) {
    const std::span<std::byte> room = piece.subspan(filled);
    if (to_send_.empty()) {
      if (next_ == flow_.moves.size()) break;
      const std::size_t bytes = kFrameBytes + sizes_(flow_.moves[next_].example);
      if (bytes <= room.size()) {
        write_next(room.first(bytes));
        filled += bytes;
        continue;
      }
      split_.resize(bytes);
      write_next(split_);
      to_send_ = split_;
    }
    const std::size_t part = std::min(to_send_.size(), room.size());
    std::memcpy(room.data(), to_send_.data(), part);
    to_send_ = to_send_.subspan(part);
    filled += part;
  }
  return filled;
}

void FrameWriter::write_next(std::span<std::byte> frame) {
  const std::uint64_t hash = shelf_.copy(flow_.moves[next_].example, frame.subspan(kFrameBytes));
  std::memcpy(frame.data(), &hash, kFrameBytes);
  ++next_;
}

FrameReader::FrameReader(const Flow& flow, const PayloadSizes& sizes)
    : flow_(flow), sizes_(sizes) {}

void FrameReader::take(std::span<const std::byte> piece, const Sink& sink) {
  while (!piece.empty()) {
    if (next_ == flow_.moves.size()) throw Error("a flow has more bytes than its examples");
    const std::size_t bytes = kFrameBytes + sizes_(flow_.moves[next_].example);
    if (split_.empty() && bytes <= piece.size()) {
      hand_on(piece.first(bytes), sink);
      piece = piece.subspan(bytes);
      continue;
    }
    const auto part = piece.first(std::min(bytes - split_.size(), piece.size()));
    split_.insert(split_.end(), part.begin(), part.end());
    piece = piece.subspan(part.size());
    if (split_.size() < bytes) return;
    hand_on(split_, sink);
    split_.clear();
  }
}

void FrameReader::hand_on(std::span<const std::byte> frame, const Sink& sink) {
  const ExampleId id = flow_.moves[next_].example;
  const auto payload = frame.subspan(kFrameBytes);
  std::uint64_t hash = 0;
  std::memcpy(&hash, frame.data(), kFrameBytes);
  if (payload_hash(payload) != hash) {
    throw DataError(fmt::format("example {} was damaged on its way from worker {} to worker {}",
                                index(id), index(flow_.from), index(flow_.to)));
  }
  ++next_;
  sink(id, payload, hash);
}

}  // namespace impart::store
