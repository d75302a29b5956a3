#include "impart/core/processor.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace impart {
namespace {

TEST(Processor, HasProductsOfBfloat16WithEitherInstruction) {
  constexpr std::uint32_t kAmx = 1u << 22, kAvx = 1u << 5;
  EXPECT_TRUE(has_bfloat16_products({.has_wide_vectors = true, .leaf_7_1_eax = kAvx}));
  EXPECT_TRUE(has_bfloat16_products({.has_wide_vectors = true, .leaf_7_edx = kAmx}));
  EXPECT_FALSE(has_bfloat16_products({.has_wide_vectors = true}));
  // Others' bits say nothing.
  EXPECT_FALSE(has_bfloat16_products(
      {.has_wide_vectors = true, .leaf_7_edx = ~kAmx, .leaf_7_1_eax = ~kAvx}));
}

TEST(Processor, HasNoneIfTheSystemDoesNotSaveTheRegisters) {
  EXPECT_FALSE(has_bfloat16_products({.leaf_7_edx = ~0u, .leaf_7_1_eax = ~0u}));
}

TEST(Processor, SaysWhatTheSystemSays) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.find("\nflags") == std::string::npos) GTEST_SKIP() << "not an x86 with Linux";
  const bool expected =
      text.find(" avx512_bf16") != std::string::npos || text.find(" amx_bf16") != std::string::npos;
  EXPECT_EQ(has_bfloat16_products(read_processor()), expected);
}

}  // namespace
}  // namespace impart
