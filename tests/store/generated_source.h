#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/core/random.h"
#include "impart/data/payloads/payload_source.h"
#include "impart/placement/partition.h"

namespace impart::testing {

/// Payloads by a formula, which store_directory.py knows, too: byte j of example i is the highest
/// byte of (i·2654435761 + j·2246822519 + i·j) mod 2^32. Sizes are `bytes`, or, if `varied`, spread
/// over 0..2·bytes. Each read costs as many bytes from disk as the payload has.
class GeneratedSource final : public data::PayloadSource {
 public:
  GeneratedSource(std::uint64_t examples, std::uint64_t bytes, bool varied = false)
      : examples_(examples), bytes_(bytes), varied_(varied) {}

  std::uint64_t examples() const override { return examples_; }
  std::uint64_t payload_bytes(ExampleId id) const override {
    return varied_ ? index(id) * 40'503 % (2 * bytes_ + 1) : bytes_;
  }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const auto i = static_cast<std::uint32_t>(index(id));
    std::uint32_t value = i * 2'654'435'761u;
    for (std::byte& byte : payload) {
      byte = static_cast<std::byte>(value >> 24);
      value += 2'246'822'519u + i;
    }
    return payload.size();
  }
  std::string describe(ExampleId id) const override {
    return fmt::format("generated {}", index(id));
  }

  std::vector<std::byte> payload(ExampleId id) const {
    std::vector<std::byte> bytes(payload_bytes(id));
    read(id, bytes);
    return bytes;
  }

 private:
  std::uint64_t examples_;
  std::uint64_t bytes_;
  bool varied_;
};

/// Parts of sizes that differ by at most 1, at random; the same for equal numbers.
inline placement::Partition random_partition(std::uint64_t examples, std::uint32_t workers,
                                             std::uint32_t number) {
  RandomStream random({.seed = 5, .purpose = Purpose("store-test"), .epoch = number});
  std::vector<WorkerId> owners(examples);
  for (std::uint64_t i = 0; i < examples; ++i) {
    owners[i] = WorkerId{static_cast<std::uint32_t>(i % workers)};
  }
  shuffle(std::span(owners), random);
  return {std::move(owners), workers};
}

}  // namespace impart::testing
