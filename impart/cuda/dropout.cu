#include <algorithm>

#include "impart/core/philox_round.h"
#include "impart/cuda/dropout.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

// As impart/models/kernels/dropout_kernel.cpp arranges them: 16 neighbouring blocks of Philox make
// a group of 128 elements; block i of a group has elements i, 16 + i, 32 + i, … of it, two from
// each of its words.
constexpr int kBlocks = 16, kGroup = 8 * kBlocks;
constexpr int kMostSlices = 256;

__global__ void store_key(DropoutKey* key, DropoutKey value) {
  *key = value;
}

/// Passed by value, so that a record keeps it.
struct SliceTable {
  std::uint32_t worker[kMostSlices];
  std::uint32_t first_row[kMostSlices + 1];
};

/// A thread takes a block of Philox, a row of thread blocks a worker.
template <class T, bool kAdds>
__global__ void __launch_bounds__(kThreads) drop_slices(const Dropout d, const SliceTable table) {
  const std::uint32_t worker = table.worker[blockIdx.y];
  const std::int64_t start = table.first_row[blockIdx.y] * d.width;
  const std::int64_t elements = table.first_row[blockIdx.y + 1] * d.width - start;
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t first = block / kBlocks * kGroup + block % kBlocks;
  if (first >= elements) return;
  std::uint32_t words[4] = {static_cast<std::uint32_t>(block),
                            static_cast<std::uint32_t>(block >> 32), d.layer, worker};
  std::uint32_t key0 = d.key->words[0], key1 = d.key->words[1];
#pragma unroll
  for (int round = 0; round < philox::kRounds; ++round) {
    philox::mix(words[0], words[1], words[2], words[3], key0, key1);
    key0 += philox::kWeyl0;
    key1 += philox::kWeyl1;
  }
  const T* const input = static_cast<const T*>(d.input) + start;
  const T* const trunk = kAdds ? static_cast<const T*>(d.trunk) + start : nullptr;
  T* const output = static_cast<T*>(d.output) + start;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::int64_t at = first + i * kBlocks;
    if (at >= elements) break;
    const std::uint32_t units = i % 2 == 0 ? words[i / 2] & 0xFFFF : words[i / 2] >> 16;
    const float mask = units < d.dropped ? 0.f : d.kept;
    const float value = to_float(input[at]) * mask;
    output[at] = from_float<T>(kAdds ? to_float(trunk[at]) + value : value);
  }
}

void drop_table(const Dropout& d, const SliceTable& table, std::uint32_t count,
                std::uint32_t most_rows, Stream stream) {
  const std::int64_t groups = divide_up(most_rows * d.width, kGroup);
  const dim3 grid(static_cast<unsigned>(divide_up(groups * kBlocks, kThreads)), count);
  with_type(d.element, [&](auto type) {
    using T = decltype(type);
    if (d.trunk != nullptr) {
      drop_slices<T, true><<<grid, kThreads, 0, stream>>>(d, table);
    } else {
      drop_slices<T, false><<<grid, kThreads, 0, stream>>>(d, table);
    }
  });
  check_launch("drop");
}

}  // namespace

void set_dropout_key(DropoutKey* key, DropoutKey value, Stream stream) {
  store_key<<<1, 1, 0, stream>>>(key, value);
  check_launch("set_dropout_key");
}

void drop(const Dropout& d, Stream stream) {
  SliceTable table = {};
  std::uint32_t count = 0, most_rows = 0, row = 0;
  const auto flush = [&] {
    if (most_rows > 0 && d.width > 0) drop_table(d, table, count, most_rows, stream);
    table.first_row[0] = row;
    count = most_rows = 0;
  };
  for (const DropoutSlice& slice : d.slices) {
    if (slice.rows == 0) continue;
    if (count == kMostSlices) flush();
    row += slice.rows;
    table.worker[count] = slice.worker;
    table.first_row[++count] = row;
    most_rows = std::max(most_rows, slice.rows);
  }
  flush();
}

}  // namespace impart::cuda
