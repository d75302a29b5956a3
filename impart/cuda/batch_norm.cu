// Forward passes of batch norm. `measure` sums x - shift and its square over parts of a worker's
// positions, where shift is the worker's first value of the channel, so that nothing cancels when
// values are far from zero. `apply` adds the parts up, every block for itself, and normalises.

#include <type_traits>

#include "impart/cuda/batch_norm.h"
#include "impart/cuda/norm_factors.h"
#include "impart/cuda/worker_tiles.h"

namespace impart::cuda {
namespace {

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    measure(const WorkerArray array, const T* __restrict__ x, float* __restrict__ scratch) {
  using Shape = Tile<T, kLanes>;
  const std::int64_t channels = array.channels;
  const Range range = range_of(array, blockIdx.z, blockIdx.x, gridDim.x);
  if (range.begin == range.end) return;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + threadIdx.x % kLanes * Shape::kPack;
  float sum[Shape::kPack] = {}, squares[Shape::kPack] = {};
  if (channel < channels) {
    const Pack<T> shift = Pack<T>::load(x + range.begin * channels + channel);
#pragma unroll 4
    for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
         at += Shape::kPositions) {
      const Pack<T> pack = Pack<T>::load(x + at * channels + channel);
#pragma unroll
      for (int i = 0; i < Shape::kPack; ++i) {
        const float value = pack.values[i] - shift.values[i];
        sum[i] += value;
        squares[i] = fmaf(value, value, squares[i]);
      }
    }
  }
  const std::int64_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  store_block_sums<T, kLanes>(sum, squares, scratch + block * 2 * Shape::kChannels);
}

template <class T, int kLanes, bool kRunning, bool kResidual>
__global__ void __launch_bounds__(kThreads) apply(const BatchNorm norm) {
  using Shape = Tile<T, kLanes>;
  __shared__ Factors<Shape::kChannels> factors;
  const std::int64_t channels = norm.array.channels;
  const Range range = range_of(norm.array, blockIdx.z, blockIdx.x, gridDim.x);
  count_batch(norm);
  if (range.begin == range.end) return;
  prepare_factors<T, kLanes, kRunning>(norm, range, gridDim.x, factors);
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  if (channel >= channels) return;
  float mean[Shape::kPack], scale[Shape::kPack], bias[Shape::kPack];
#pragma unroll
  for (int i = 0; i < Shape::kPack; ++i) {
    mean[i] = factors.mean[inside + i];
    scale[i] = factors.scale[inside + i];
    bias[i] = factors.bias[inside + i];
  }
  const T* const x = static_cast<const T*>(norm.x);
  const T* const residual = static_cast<const T*>(norm.residual);
  T* const y = static_cast<T*>(norm.y);
#pragma unroll 4
  for (std::int64_t at = range.first + threadIdx.x / kLanes; at < range.last;
       at += Shape::kPositions) {
    Pack<T> pack = Pack<T>::load(x + at * channels + channel);
    Pack<T> other;
    if constexpr (kResidual) other = Pack<T>::load(residual + at * channels + channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      float value = fmaf(pack.values[i] - mean[i], scale[i], bias[i]);
      if constexpr (kResidual) value += other.values[i];
      pack.values[i] = norm.relu ? fmaxf(value, 0.f) : value;
    }
    pack.store(y + at * channels + channel);
  }
}

template <bool kRunning>
void launch_apply(const BatchNorm& norm, const Cut& cut, Stream stream) {
  if (norm.pooling.taps != nullptr) {
    apply_pooled(norm, kRunning, cut, stream);
    return;
  }
  const dim3 grid(cut.splits, cut.tiles, static_cast<unsigned>(norm.array.workers));
  with_tile(norm.array.element, cut.lanes, [&](auto type, auto lanes) {
    using T = decltype(type);
    if (norm.residual != nullptr) {
      apply<T, lanes(), kRunning, true><<<grid, kThreads, 0, stream>>>(norm);
    } else {
      apply<T, lanes(), kRunning, false><<<grid, kThreads, 0, stream>>>(norm);
    }
  });
  check_launch("normalise");
}

}  // namespace

bool takes_channels(std::int64_t channels, Element element) {
  return channels > 0 && channels % (element == Element::kFloat ? 4 : 8) == 0;
}

std::size_t scratch_floats(const WorkerArray& array) {
  const Cut shape = cut(array);
  const int pack = array.element == Element::kFloat ? 4 : 8;
  return static_cast<std::size_t>(array.workers) * shape.tiles * shape.splits * 2 * shape.lanes *
         pack;
}

void normalise(const BatchNorm& norm, Stream stream) {
  const WorkerArray& array = norm.array;
  if (array.longest == 0 || normalise_at_once(norm, stream)) return;
  const Cut shape = cut(array);
  const dim3 grid(shape.splits, shape.tiles, static_cast<unsigned>(array.workers));
  with_tile(array.element, shape.lanes, [&](auto type, auto lanes) {
    using T = decltype(type);
    measure<T, lanes()>
        <<<grid, kThreads, 0, stream>>>(array, static_cast<const T*>(norm.x), norm.scratch);
  });
  check_launch("measure");
  launch_apply<false>(norm, shape, stream);
}

void normalise_with_running(const BatchNorm& norm, Stream stream) {
  if (norm.array.longest == 0) return;
  launch_apply<true>(norm, cut(norm.array), stream);
}

}  // namespace impart::cuda
