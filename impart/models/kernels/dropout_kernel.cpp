#include "impart/models/kernels/dropout_kernel.h"

#include <algorithm>
#include <array>

#include "impart/core/philox_round.h"
#include "impart/core/vector_clones.h"

namespace impart::kernels {
namespace {

constexpr int kBlocks = 16;  ///< that are computed side by side

using BlockWords = std::array<std::uint32_t, kBlocks>;

IMPART_INLINE void write_halves(const BlockWords& words, const DropoutMaskSpec& spec, float* mask) {
  for (int i = 0; i < kBlocks; ++i) {
    mask[i] = (words[i] & 0xFFFF) < spec.dropped ? 0.0f : spec.kept;
    mask[kBlocks + i] = (words[i] >> 16) < spec.dropped ? 0.0f : spec.kept;
  }
}

/// As philox4x32_10 (impart/core/philox.h) does, on all blocks.
IMPART_INLINE void draw_group(const DropoutMaskSpec& spec, std::uint64_t group, float* mask) {
  BlockWords c0, c1, c2, c3;
  const std::uint64_t first = group * kBlocks;
  for (int i = 0; i < kBlocks; ++i) {
    c0[i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i);
    c1[i] = static_cast<std::uint32_t>(first >> 32);
    c2[i] = spec.layer;
    c3[i] = spec.worker;
  }
  auto [key0, key1] = spec.key;
  for (int round = 0; round < philox::kRounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) philox::mix(c0[i], c1[i], c2[i], c3[i], key0, key1);
    key0 += philox::kWeyl0;
    key1 += philox::kWeyl1;
  }
  write_halves(c0, spec, mask);
  write_halves(c1, spec, mask + 2 * kBlocks);
  write_halves(c2, spec, mask + 4 * kBlocks);
  write_halves(c3, spec, mask + 6 * kBlocks);
}

IMPART_VECTOR_CLONES
void draw_groups(const DropoutMaskSpec& spec, std::uint64_t first, std::uint64_t count,
                 float* mask) {
  for (std::uint64_t i = 0; i < count; ++i) {
    draw_group(spec, first + i, mask + i * kDropoutGroup);
  }
}

}  // namespace

void draw_dropout_mask(const DropoutMaskSpec& spec, std::int64_t first_group,
                       std::span<float> mask) {
  const auto first = static_cast<std::uint64_t>(first_group);
  const std::size_t whole = mask.size() / kDropoutGroup;
  draw_groups(spec, first, whole, mask.data());
  const std::span<float> rest = mask.subspan(whole * kDropoutGroup);
  if (rest.empty()) return;
  std::array<float, kDropoutGroup> last;
  draw_groups(spec, first + whole, 1, last.data());
  std::ranges::copy_n(last.begin(), static_cast<std::ptrdiff_t>(rest.size()), rest.begin());
}

}  // namespace impart::kernels
