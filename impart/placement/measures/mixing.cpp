#include "impart/placement/measures/mixing.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::placement {
namespace {

std::uint64_t stride_of(const Partition& partition) {
  const std::uint64_t most = std::max<std::uint64_t>(1, Mixing::kMostBits / partition.workers());
  return std::max<std::uint64_t>(1, (partition.examples() + most - 1) / most);
}

}  // namespace

Mixing::Mixing(const Partition& start) : start_(start), stride_(stride_of(start)) {
  bits_.resize((noted_examples() * start.workers() + 7) / 8);
  note(start);
}

Mixing::Mixing(const Partition& start, std::vector<std::uint8_t> bits)
    : start_(start), stride_(stride_of(start)), bits_(std::move(bits)) {
  const std::uint64_t wanted = (noted_examples() * start.workers() + 7) / 8;
  if (bits_.size() != wanted) {
    throw DataError(fmt::format("what workers have seen takes {} bytes for {} examples, found {}",
                                wanted, start.examples(), bits_.size()));
  }
  for (const std::uint8_t byte : bits_) owned_ += static_cast<std::uint64_t>(std::popcount(byte));
}

void Mixing::note(const Partition& partition) {
  for (std::uint64_t at = 0; at < noted_examples(); ++at) {
    const std::uint64_t bit =
        at * start_.workers() + index(partition.owner(ExampleId{at * stride_}));
    const auto mask = static_cast<std::uint8_t>(1u << (bit % 8));
    if ((bits_[bit / 8] & mask) != 0) continue;
    bits_[bit / 8] |= mask;
    ++owned_;
  }
}

double Mixing::moved(const Partition& partition) const {
  if (start_.examples() == 0) return 0;
  std::uint64_t moved = 0;
  for (std::uint64_t i = 0; i < start_.examples(); ++i) {
    if (partition.owner(ExampleId{i}) != start_.owner(ExampleId{i})) ++moved;
  }
  return static_cast<double>(moved) / static_cast<double>(start_.examples());
}

double Mixing::seen() const {
  if (start_.examples() == 0) return 0;
  return static_cast<double>(owned_) / static_cast<double>(noted_examples()) /
         static_cast<double>(start_.workers());
}

}  // namespace impart::placement
