// Blocks of Philox side by side, for vector units.

#include "impart/core/philox.h"
#include "impart/core/philox_round.h"
#include "impart/core/vector_clones.h"

namespace impart {
namespace {

using Lane = std::array<std::uint32_t, kPhiloxBlocks>;

}  // namespace

IMPART_VECTOR_CLONES
void philox4x32_10_blocks(const PhiloxCounter& counter, PhiloxKey key, PhiloxWords& words) {
  Lane c0, c1, c2, c3;
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    c0[i] = counter[0] + static_cast<std::uint32_t>(i);
    c1[i] = counter[1];
    c2[i] = counter[2];
    c3[i] = counter[3];
  }
  for (int round = 0; round < philox::kRounds; ++round) {
    for (int i = 0; i < kPhiloxBlocks; ++i) philox::mix(c0[i], c1[i], c2[i], c3[i], key[0], key[1]);
    key[0] += philox::kWeyl0;
    key[1] += philox::kWeyl1;
  }
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace impart
