// Batch norm in one launch, where a worker has so few positions that one block can hold all values
// of some of its channels in registers: they are read once.

#include "impart/cuda/norm_factors.h"
#include "impart/cuda/norm_gradients.h"

namespace impart::cuda {
namespace {

/// Packs of x that a thread holds at most.
constexpr int kMostRounds = 8;
/// Up to so many workers, the last block of a tile adds up the parameters' gradients.
constexpr int kMostArriving = 32;

/// How to cut an array so that a block has a whole worker; lanes 0: it cannot be.
struct SmallCut {
  int lanes = 0, tiles = 0, rounds = 0;
};

/// The widest tile whose positions fit, and that leaves no multiprocessor without a block.
SmallCut find_cut(const WorkerArray& array) {
  const std::int64_t positions = array.longest * array.pixels;
  const int pack = array.element == Element::kFloat ? 4 : 8;
  SmallCut found;
  for (const int lanes : {32, 8, 2, 1}) {
    const std::int64_t rounds = divide_up(positions * lanes, kThreads);
    if (rounds > kMostRounds || (lanes > 1 && lanes * pack > array.channels)) continue;
    found = {lanes, static_cast<int>(divide_up(array.channels, lanes * pack)),
             static_cast<int>(rounds)};
    if (found.tiles * array.workers >= multiprocessors() * 3 / 4) break;
  }
  return found;
}

/// Calls function(T{}, lanes, rounds) with constants.
template <class Function>
void with_small(Element element, const SmallCut& cut, Function&& function) {
  const auto with_rounds = [&](auto type, auto lanes) {
    if (cut.rounds <= 2) {
      function(type, lanes, std::integral_constant<int, 2>{});
    } else {
      function(type, lanes, std::integral_constant<int, kMostRounds>{});
    }
  };
  with_type(element, [&](auto type) {
    switch (cut.lanes) {
      case 32:
        return with_rounds(type, std::integral_constant<int, 32>{});
      case 8:
        return with_rounds(type, std::integral_constant<int, 8>{});
      case 2:
        return with_rounds(type, std::integral_constant<int, 2>{});
      default:
        return with_rounds(type, std::integral_constant<int, 1>{});
    }
  });
}

template <class T, int kLanes, int kRounds>
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

/// The parameters' gradients of a tile, by its last block. `totals` is free to be used.
template <class T, int kLanes>
__device__ void add_up_workers(const BatchNormBackward& norm, float* totals) {
  using Shape = Tile<T, kLanes>;
  constexpr int kColumns = 2 * Shape::kChannels;
  __threadfence();
  const auto row = [&](int worker) {
    return norm.scratch + (std::int64_t{worker} * gridDim.y + blockIdx.y) * kColumns;
  };
  add_rows<kColumns>(static_cast<int>(norm.array.workers), row, totals);
  for (int i = threadIdx.x; i < kColumns; i += kThreads) {
    const std::int64_t channel = blockIdx.y * Shape::kChannels + i % Shape::kChannels;
    if (channel >= norm.array.channels) continue;
    (i < Shape::kChannels ? norm.grad_bias : norm.grad_weight)[channel] = totals[i];
  }
}

/// Stores a worker's sums, and tells whether all workers of the tile have stored theirs.
template <int kColumns>
__device__ bool store_and_arrive(const BatchNormBackward& norm, const float* totals) {
  __shared__ bool is_last;
  const std::int64_t tile = blockIdx.z * gridDim.y + blockIdx.y;
  for (int i = threadIdx.x; i < kColumns; i += kThreads) {
    norm.scratch[tile * kColumns + i] = totals[i];
  }
  if (norm.array.workers > kMostArriving) return false;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(norm.arrivals + blockIdx.y, 1) == static_cast<int>(gridDim.z) - 1;
    if (is_last) norm.arrivals[blockIdx.y] = 0;
  }
  __syncthreads();
  return is_last;
}

template <class T, int kLanes, int kRounds, Sign kSign, bool kTwo>
__global__ void __launch_bounds__(kThreads) differentiate_small(const BatchNormBackward norm) {
  using Shape = Tile<T, kLanes>;
  constexpr int kColumns = 2 * Shape::kChannels;
  __shared__ float totals[kColumns];
  const std::int64_t channels = norm.array.channels;
  const Range range = range_of(norm.array, blockIdx.z, 0, 1);
  const int inside = threadIdx.x % kLanes * Shape::kPack;
  const std::int64_t channel = blockIdx.y * Shape::kChannels + inside;
  const std::int64_t first = range.begin + threadIdx.x / kLanes;
  const bool takes_part = channel < channels && range.begin < range.end;
  ChannelFactors<Shape::kPack> factors{};
  if (takes_part) factors = load_factors<Shape::kPack>(norm, blockIdx.z, channel);
  Place<T> places[kRounds];
  float sum[Shape::kPack] = {}, products[Shape::kPack] = {};
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at = first + round * Shape::kPositions;
    if (!takes_part || at >= range.end) continue;
    places[round] = load_place<T, kSign, kTwo>(norm, factors, at, channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      const float gradient = places[round].gradient.values[i];
      sum[i] += gradient;
      products[i] = fmaf(gradient, places[round].normal.values[i], products[i]);
    }
  }
  store_block_sums<T, kLanes>(sum, products, totals);
  __syncthreads();
  const bool is_last = store_and_arrive<kColumns>(norm, totals);
  const float count = static_cast<float>(range.end - range.begin);
  float scale[Shape::kPack], mean_gradient[Shape::kPack], mean_product[Shape::kPack];
#pragma unroll
  for (int i = 0; i < Shape::kPack; ++i) {
    scale[i] = factors.weight[i] * factors.inverse[i];
    mean_gradient[i] = totals[inside + i] / count;
    mean_product[i] = totals[Shape::kChannels + inside + i] / count;
  }
  T* const grad_x = static_cast<T*>(norm.grad_x);
  T* const grad_residual = static_cast<T*>(norm.grad_residual);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t at = first + round * Shape::kPositions;
    if (!takes_part || at >= range.end) continue;
    Place<T>& place = places[round];
    if (grad_residual != nullptr) place.gradient.store(grad_residual + at * channels + channel);
#pragma unroll
    for (int i = 0; i < Shape::kPack; ++i) {
      place.gradient.values[i] = scale[i] * (place.gradient.values[i] - mean_gradient[i] -
                                             place.normal.values[i] * mean_product[i]);
    }
    place.gradient.store(grad_x + at * channels + channel);
  }
  if (!is_last) return;
  __syncthreads();
  add_up_workers<T, kLanes>(norm, totals);
}

/// For many workers: one block per columns that it adds up.
template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) add_parameters(const BatchNormBackward norm) {
  add_up_parameters<T, kLanes>(norm, blockIdx.z);
}

}  // namespace

bool normalise_at_once(const BatchNorm& norm, Stream stream) {
  const SmallCut cut = find_cut(norm.array);
  if (cut.lanes == 0 || norm.pooling.taps != nullptr) return false;
  const dim3 grid(1, cut.tiles, static_cast<unsigned>(norm.array.workers));
  with_small(norm.array.element, cut, [&](auto type, auto lanes, auto rounds) {
    normalise_small<decltype(type), lanes(), rounds()><<<grid, kThreads, 0, stream>>>(norm);
  });
  check_launch("normalise_small");
  return true;
}

bool differentiate_at_once(const BatchNormBackward& norm, Stream stream) {
  const SmallCut cut = find_cut(norm.array);
  if (cut.lanes == 0 || norm.arrivals == nullptr) return false;
  const dim3 grid(1, cut.tiles, static_cast<unsigned>(norm.array.workers));
  with_small(norm.array.element, cut, [&](auto type, auto lanes, auto rounds) {
    using T = decltype(type);
    with_variant(norm, [&](auto sign, auto two) {
      differentiate_small<T, lanes(), rounds(), sign(), two()><<<grid, kThreads, 0, stream>>>(norm);
    });
    if (norm.array.workers > kMostArriving) {
      const dim3 columns(1, cut.tiles, kParameterBlocks<T, lanes()>);
      add_parameters<T, lanes()><<<columns, kThreads, 0, stream>>>(norm);
    }
  });
  check_launch("differentiate_small");
  return true;
}

}  // namespace impart::cuda
