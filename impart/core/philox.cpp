#include "impart/core/philox.h"

#include "impart/core/philox_round.h"

namespace impart {

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  auto& [c0, c1, c2, c3] = counter;
  for (int round = 0; round < philox::kRounds; ++round) {
    philox::mix(c0, c1, c2, c3, key[0], key[1]);
    key[0] += philox::kWeyl0;
    key[1] += philox::kWeyl1;
  }
  return counter;
}

}  // namespace impart
