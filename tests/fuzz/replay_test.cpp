// Every target with its seeds, and with damage that is drawn the same way every time. What
// libFuzzer finds beyond that, `tools/fuzz.py` tells.

#include <algorithm>

#include <gtest/gtest.h>

#include "impart/core/random.h"
#include "tests/fuzz/targets.h"

namespace impart::fuzz {
namespace {

constexpr int kDamagesPerSeed = 300;

std::string damaged(std::string text, RandomStream& random) {
  if (text.empty()) return text;
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = random.below(text.size());
    text[at] = random.below(2) == 0 ? static_cast<char>(random.below(256))
                                    : static_cast<char>(text[at] ^ (1 << random.below(8)));
  }
  if (random.below(4) == 0) text.resize(random.below(text.size()));
  return text;
}

class Replay : public ::testing::TestWithParam<TargetRow> {};

TEST_P(Replay, ReadsItsSeedsAndRefusesDamageInOrder) {
  const TargetRow& target = GetParam();
  RandomStream random({.seed = 1, .purpose = Purpose("damage")});
  for (const std::string& seed : target.seeds()) {
    try_input(target, std::as_bytes(std::span(seed)));
    for (int i = 0; i < kDamagesPerSeed; ++i) {
      const std::string input = damaged(seed, random);
      try_input(target, std::as_bytes(std::span(input)));
    }
  }
  try_input(target, {});
}

INSTANTIATE_TEST_SUITE_P(AllTargets, Replay, ::testing::ValuesIn(kTargets), [](const auto& param) {
  std::string name(param.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace impart::fuzz
