#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <fmt/format.h>

#include "impart/cost/io_strategies.h"
#include "impart/data/payloads/payload_source.h"

namespace impart::testing {

/// Payloads that tell examples apart.
class NumberedSource final : public data::PayloadSource {
 public:
  NumberedSource(std::uint64_t examples, std::uint64_t bytes)
      : examples_(examples), bytes_(bytes) {}
  std::uint64_t examples() const override { return examples_; }
  std::uint64_t payload_bytes(ExampleId) const override { return bytes_; }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const std::uint64_t number = index(id);
    for (std::size_t at = 0; at + sizeof(number) <= payload.size(); at += sizeof(number)) {
      std::memcpy(payload.data() + at, &number, sizeof(number));
    }
    return 0;
  }
  std::string describe(ExampleId id) const override { return fmt::format("{}", index(id)); }

 private:
  std::uint64_t examples_, bytes_;
};

/// Of a strategy as `impart io` names it, over 40 epochs of which one is random.
inline placement::PlacementSpec decisions_of(const std::string& strategy, std::uint32_t workers) {
  placement::PlacementSpec base;
  base.workers = workers;
  base.epochs = 40;
  base.warmup = 1;
  const std::string names[] = {strategy};
  return cost::make_io_strategies(names, {.base = base, .intervals = {1}, .fractions = {0.1}})
      .front()
      .decisions;
}

}  // namespace impart::testing
