// Batch norm in one launch, where a worker has so few positions that one block can hold all values
// of some of its channels in registers: they are read once. The way back, which has to hold twice
// as much, did not gain by it.

#include "impart/cuda/norm_factors.h"

namespace impart::cuda {
namespace {

/// Packs of x that a thread holds at most; with more, two launches are faster.
constexpr int kRounds = 2;

/// How to cut an array so that a block has a whole worker; lanes 0: it cannot be.
struct SmallCut {
  int lanes = 0, tiles = 0;
};

/// The widest tile whose positions fit, and that leaves few multiprocessors without a block.
SmallCut find_cut(const WorkerArray& array) {
  const std::int64_t positions = array.longest * array.pixels;
  const int pack = array.element == Element::kFloat ? 4 : 8;
  for (const int lanes : {32, 8, 2}) {
    const std::int64_t tiles = divide_up(array.channels, lanes * pack);
    const bool fits = positions * lanes <= kRounds * kThreads && lanes * pack <= array.channels;
    if (fits && tiles * array.workers >= multiprocessors() * 3 / 4) {
      return {lanes, static_cast<int>(tiles)};
    }
  }
  return {};
}

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) normalise_small(const BatchNorm norm) {
  using Shape = Tile<T, kLanes>;
  __shared__ float totals[2 * Shape::kChannels];
  __shared__ Factors<Shape::kChannels> factors;
  const std::int64_t channels = norm.array.channels;
  const Range range = range_of(norm.array, blockIdx.z, 0, 1);
  count_batch(norm);
  if (range.begin == range.end) return;
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  const std::int64_t first = range.begin + threadIdx.x / kLanes;
  const bool takes_part = channel < channels;
  const T* const x = static_cast<const T*>(norm.x);
  Pack<T> packs[kRounds];
  float sum[Shape::kPack] = {}, squares[Shape::kPack] = {};
  Pack<T> shift{};
  if (takes_part) shift = Pack<T>::load(x + range.begin * channels + channel);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at = first + round * Shape::kPositions;
    if (!takes_part || at >= range.end) continue;
    packs[round] = Pack<T>::load(x + at * channels + channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      const float value = packs[round].values[i] - shift.values[i];
      sum[i] += value;
      squares[i] = fmaf(value, value, squares[i]);
    }
  }
  store_block_sums<T, kLanes>(sum, squares, totals);
  __syncthreads();
  find_factors<T, kLanes>(norm, range, totals, factors);
  __syncthreads();
  if (!takes_part) return;
  const T* const residual = static_cast<const T*>(norm.residual);
  T* const y = static_cast<T*>(norm.y);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at = first + round * Shape::kPositions;
    if (at >= range.end) continue;
    Pack<T> other{};
    if (residual != nullptr) other = Pack<T>::load(residual + at * channels + channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      float& value = packs[round].values[i];
      value = fmaf(value - factors.mean[inside + i], factors.scale[inside + i],
                   factors.bias[inside + i]) +
              other.values[i];
      if (norm.relu) value = fmaxf(value, 0.f);
    }
    packs[round].store(y + at * channels + channel);
  }
}

}  // namespace

bool normalise_at_once(const BatchNorm& norm, Stream stream) {
  const SmallCut cut = find_cut(norm.array);
  if (cut.lanes == 0 || norm.pooling.taps != nullptr) return false;
  const dim3 grid(1, cut.tiles, static_cast<unsigned>(norm.array.workers));
  with_type(norm.array.element, [&](auto type) {
    using T = decltype(type);
    auto* const kernel = cut.lanes == 32  ? normalise_small<T, 32>
                         : cut.lanes == 8 ? normalise_small<T, 8>
                                          : normalise_small<T, 2>;
    kernel<<<grid, kThreads, 0, stream>>>(norm);
  });
  check_launch("normalise_small");
  return true;
}

}  // namespace impart::cuda
