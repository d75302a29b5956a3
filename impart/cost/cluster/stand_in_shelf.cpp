#include "impart/cost/cluster/stand_in_shelf.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/store/payload_hash.h"

namespace impart::cost {

StandInShelf::StandInShelf(const std::vector<std::uint64_t>& numbers, const Times& times,
                           double& clock)
    : numbers_(numbers), times_(times), clock_(clock), holds_(numbers.size()) {}

std::vector<ExampleId> StandInShelf::held() const {
  std::vector<ExampleId> ids;
  for (std::uint64_t i = 0; i < holds_.size(); ++i) {
    if (holds_[i]) ids.push_back(ExampleId{i});
  }
  return ids;
}

std::uint64_t StandInShelf::fill(ExampleId id, std::span<std::byte> payload) const {
  std::array<std::uint64_t, kBytes / sizeof(std::uint64_t)> words;
  words.fill(numbers_[index(id)]);
  std::memcpy(payload.data(), words.data(), std::min<std::size_t>(payload.size(), kBytes));
  return store::payload_hash(payload);
}

std::optional<std::uint64_t> StandInShelf::read(ExampleId id, std::vector<std::byte>& payload) {
  if (!holds_[index(id)]) return std::nullopt;
  payload.resize(kBytes);
  fill(id, payload);
  return 0;
}

std::uint64_t StandInShelf::copy(ExampleId id, std::span<std::byte> payload) {
  if (!holds_[index(id)]) {
    throw Error(
        fmt::format("example {} is sent by a node that does not hold it", numbers_[index(id)]));
  }
  clock_ += times_.pack + times_.read;
  return fill(id, payload);
}

void StandInShelf::put(ExampleId id, std::span<const std::byte> payload, std::uint64_t hash) {
  std::array<std::byte, kBytes> expected = {};
  const bool is_right = fill(id, expected) == hash && std::ranges::equal(payload, expected);
  if (!is_right || holds_[index(id)]) {
    throw Error(
        fmt::format("example {} did not arrive as it was sent, or twice", numbers_[index(id)]));
  }
  hold(id);
  clock_ += times_.pack;
  unsynced_ += times_.write;
}

void StandInShelf::hold(ExampleId id) {
  holds_[index(id)] = true;
  ++count_;
}

void StandInShelf::forget(ExampleId id) {
  holds_[index(id)] = false;
  --count_;
}

void StandInShelf::sync() {
  clock_ += std::exchange(unsynced_, 0);
}

}  // namespace impart::cost
