#pragma once

// How the batch-norm kernels cut a WorkerArray into blocks. For .cu files only.

#include <algorithm>

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {

/// A block takes some positions (rows × pixels) of one worker and a tile of channels: `kLanes`
/// threads side by side have 16 bytes of channels each, the others take further positions.
template <class T, int kLanes>
struct Tile {
  static constexpr int kPack = Pack<T>::kWidth;
  static constexpr int kChannels = kLanes * kPack;
  static constexpr int kPositions = kThreads / kLanes;  ///< at a time
};

/// The grid: x cuts the positions of a worker, y the channels, z the workers.
struct Cut {
  int lanes = 8;
  int tiles = 1;
  int splits = 1;
};

inline Cut cut(const WorkerArray& array) {
  const int pack = array.element == Element::kFloat ? 4 : 8;
  const std::int64_t positions = std::max<std::int64_t>(1, array.longest * array.pixels);
  Cut result;
  // Few positions: wide tiles, so that no thread is idle.
  result.lanes = positions < 32 && array.channels >= 32 * pack ? 32 : 8;
  result.tiles = static_cast<int>(divide_up(array.channels, result.lanes * pack));
  const std::int64_t blocks = result.tiles * array.workers;
  const std::int64_t wanted = 4 * multiprocessors();
  const std::int64_t at_a_time = kThreads / result.lanes;
  // The more parts, the more there is to add up: over 64 only where each has many positions.
  const std::int64_t most =
      std::max({std::min<std::int64_t>(divide_up(positions, 2 * at_a_time), 64),
                positions / (16 * at_a_time), std::int64_t{1}});
  result.splits = static_cast<int>(
      std::clamp<std::int64_t>(wanted / std::max<std::int64_t>(1, blocks), 1, most));
  return result;
}

/// The positions that block x of a worker takes.
struct Range {
  std::int64_t first, last;  ///< of the block
  std::int64_t begin, end;   ///< of the worker
};

__device__ inline Range range_of(const WorkerArray& array, int worker, int part, int parts) {
  const bool alone = array.starts == nullptr;
  const std::int64_t begin = alone ? 0 : array.starts[worker] * array.pixels;
  const std::int64_t end = (alone ? array.longest : array.starts[worker + 1]) * array.pixels;
  const std::int64_t length = (end - begin + parts - 1) / parts;
  const std::int64_t first = begin + part * length;
  return {first, first + length < end ? first + length : end, begin, end};
}

/// Sums two numbers per channel over the threads of a block and stores them in `out`,
/// [2, kChannels], from a fixed tree.
template <class T, int kLanes>
__device__ void store_block_sums(const float (&first)[Pack<T>::kWidth],
                                 const float (&second)[Pack<T>::kWidth], float* out) {
  using Shape = Tile<T, kLanes>;
  constexpr int kWarps = kThreads / kWarp;
  __shared__ float sums[kWarps][2][Shape::kChannels];
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int i = 0; i < Shape::kPack; ++i) {
    float a = first[i], b = second[i];
#pragma unroll
    for (int distance = kLanes; distance < kWarp; distance *= 2) {
      a += __shfl_xor_sync(0xffffffffu, a, distance);
      b += __shfl_xor_sync(0xffffffffu, b, distance);
    }
    if (threadIdx.x % kWarp < kLanes) {
      sums[warp][0][lane * Shape::kPack + i] = a;
      sums[warp][1][lane * Shape::kPack + i] = b;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * Shape::kChannels; i += kThreads) {
    const int which = i / Shape::kChannels, channel = i % Shape::kChannels;
    float total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += sums[w][which][channel];
    out[i] = total;
  }
}

/// Adds up `count` rows of floats, `kColumns` of each, four times a power of two, into `totals`, in
/// an order that depends on nothing else. `row(i)` is where row i begins. Threads share the rows of
/// a column, so that few loads follow one another. Ends with a barrier.
template <int kColumns, class Row>
__device__ void add_rows(int count, Row&& row, float* totals) {
  constexpr int kPacks = kColumns / 4;
  constexpr int kShares = kThreads / kPacks > 0 ? kThreads / kPacks : 1;
  __shared__ float4 shares[kShares][kPacks];
  for (int i = threadIdx.x; i < kShares * kPacks; i += kThreads) {
    const int share = i / kPacks, pack = i % kPacks;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int part = share; part < count; part += kShares) {
      const float4 value = *reinterpret_cast<const float4*>(row(part) + 4 * pack);
      sum.x += value.x, sum.y += value.y, sum.z += value.z, sum.w += value.w;
    }
    shares[share][pack] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kColumns; i += kThreads) {
    float total = 0;
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
      total += reinterpret_cast<const float*>(shares[share])[i];
    }
    totals[i] = total;
  }
  __syncthreads();
}

/// Calls function(T{}, std::integral_constant<int, lanes>{}).
template <class Function>
void with_tile(Element element, int lanes, Function&& function) {
  with_type(element, [&](auto type) {
    if (lanes == 8) {
      function(type, std::integral_constant<int, 8>{});
    } else {
      function(type, std::integral_constant<int, 32>{});
    }
  });
}

}  // namespace impart::cuda
