#pragma once

// From the sums over a worker's positions to the factors that normalise them. For .cu files only.

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/worker_tiles.h"

namespace impart::cuda {

/// What a block needs per channel of its tile to normalise.
template <int kChannels>
struct Factors {
  float mean[kChannels], scale[kChannels], bias[kChannels];
};

/// From a worker's sums to its statistics; the first block of the worker also keeps them.
template <class T, int kLanes>
__device__ void find_factors(const BatchNorm& norm, const Range& range, const float* totals,
                             Factors<Tile<T, kLanes>::kChannels>& factors) {
  using Shape = Tile<T, kLanes>;
  const std::int64_t channels = norm.array.channels;
  const auto count = static_cast<float>(range.end - range.begin);
  for (int i = threadIdx.x; i < Shape::kChannels; i += kThreads) {
    const std::int64_t channel = blockIdx.y * Shape::kChannels + i;
    if (channel >= channels) continue;
    const float shift = to_float(static_cast<const T*>(norm.x)[range.begin * channels + channel]);
    const float offset = totals[i] / count;
    const float mean = shift + offset;
    const float variance = fmaxf(0.f, totals[Shape::kChannels + i] / count - offset * offset);
    const float inverse = 1.f / sqrtf(variance + norm.epsilon);
    factors.mean[i] = mean;
    factors.scale[i] = inverse * norm.weight[channel];
    factors.bias[i] = norm.bias[channel];
    if (blockIdx.x != 0) continue;
    const std::int64_t at = blockIdx.z * channels + channel;
    norm.mean[at] = mean;
    norm.inverse_deviation[at] = inverse;
    if (norm.running_mean == nullptr) continue;
    norm.running_mean[at] += (mean - norm.running_mean[at]) * norm.momentum;
    if (count > 1) {
      const float unbiased = variance * (count / (count - 1));
      norm.running_variance[at] += (unbiased - norm.running_variance[at]) * norm.momentum;
    }
  }
}

template <class T, int kLanes>
__device__ void find_running_factors(const BatchNorm& norm,
                                     Factors<Tile<T, kLanes>::kChannels>& factors) {
  using Shape = Tile<T, kLanes>;
  for (int i = threadIdx.x; i < Shape::kChannels; i += kThreads) {
    const std::int64_t channel = blockIdx.y * Shape::kChannels + i;
    if (channel >= norm.array.channels) continue;
    factors.mean[i] = norm.running_mean[channel];
    factors.scale[i] = norm.weight[channel] / sqrtf(norm.running_variance[channel] + norm.epsilon);
    factors.bias[i] = norm.bias[channel];
  }
}

/// The factors of the block's tile: from `parts` sums in the scratch memory, or from the running
/// statistics. Ends with a barrier.
template <class T, int kLanes, bool kRunning>
__device__ void prepare_factors(const BatchNorm& norm, const Range& range, int parts,
                                Factors<Tile<T, kLanes>::kChannels>& factors) {
  using Shape = Tile<T, kLanes>;
  if constexpr (kRunning) {
    find_running_factors<T, kLanes>(norm, factors);
  } else {
    constexpr int kColumns = 2 * Shape::kChannels;
    __shared__ float totals[kColumns];
    const std::int64_t tile = blockIdx.z * gridDim.y + blockIdx.y;
    const float* const first = norm.scratch + tile * parts * kColumns;
    add_rows<kColumns>(
        parts, [&](int part) { return first + part * kColumns; }, totals);
    find_factors<T, kLanes>(norm, range, totals, factors);
  }
  __syncthreads();
}

/// Once per launch; others may run at the same time.
__device__ inline void count_batch(const BatchNorm& norm) {
  const bool is_first = threadIdx.x + blockIdx.x + blockIdx.y + blockIdx.z == 0;
  if (!is_first || norm.batches == nullptr) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(norm.batches), 1ull);
}

/// In batch_norm_small.cu: everything in one launch, if the array is small enough; else false.
bool normalise_at_once(const BatchNorm& norm, Stream stream);

/// In batch_norm_pool.cu: normalises and pools. `parts` are the blocks that measured each tile.
void apply_pooled(const BatchNorm& norm, bool running, const Cut& measured, Stream stream);

}  // namespace impart::cuda
