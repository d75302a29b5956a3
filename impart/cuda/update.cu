#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/update.h"

namespace impart::cuda {
namespace {

constexpr int kMostSlices = 192;
constexpr int kPerThread = 8;
constexpr int kChunk = kThreads * kPerThread;  ///< elements of a block, all of one parameter

/// Slices as a kernel takes them, by value: addresses may live in a recorded graph.
struct SliceList {
  const void* gradients[kMostSlices];
  std::int64_t starts[kMostSlices];
  std::int32_t sizes[kMostSlices];
  std::int32_t first_chunk[kMostSlices + 1];
  std::uint8_t is_half_gradient[kMostSlices];
  std::uint8_t has_half[kMostSlices];
  std::int32_t count = 0;
};

/// Where a block works.
struct Chunk {
  int slice;
  std::int64_t offset, size;  ///< in the slice
};

__device__ Chunk find_chunk(const SliceList& list, int block) {
  int low = 0, high = list.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.first_chunk[middle] <= block ? low : high) = middle;
  }
  const std::int64_t offset = std::int64_t{block - list.first_chunk[low]} * kChunk;
  const std::int64_t left = list.sizes[low] - offset;
  return {low, offset, left < kChunk ? left : kChunk};
}

__device__ float gradient_at(const SliceList& list, int slice, std::int64_t at) {
  return list.is_half_gradient[slice] != 0
             ? to_float(static_cast<const __nv_bfloat16*>(list.gradients[slice])[at])
             : static_cast<const float*>(list.gradients[slice])[at];
}

/// The constants of a step.
struct Rule {
  bool adamw, nesterov;
  float momentum, weight_decay, beta1, beta2, epsilon;
};

__device__ void change(const Rule& rule, const StepState& step, float gradient, float& value,
                       float& first, float& second) {
  if (rule.adamw) {
    first = rule.beta1 * first + (1 - rule.beta1) * gradient;
    second = rule.beta2 * second + (1 - rule.beta2) * gradient * gradient;
    const float size = sqrtf(second) / step.correction2 + rule.epsilon;
    value =
        value * (1 - step.rate * rule.weight_decay) - step.rate / step.correction1 * first / size;
    return;
  }
  const float g = gradient + rule.weight_decay * value;
  first = rule.momentum * first + g;
  value -= step.rate * (rule.nesterov ? g + rule.momentum * first : first);
}

/// Four elements at a time where everything is aligned for it, else one.
template <bool kAdamw>
__global__ void __launch_bounds__(kThreads)
    update_chunks(const __grid_constant__ SliceList list, const Rule rule, float* values,
                  float* firsts, float* seconds, __nv_bfloat16* halves, const StepState* step_at,
                  const float* factor_at) {
  const Chunk chunk = find_chunk(list, blockIdx.x);
  const StepState step = *step_at;
  const float factor = factor_at != nullptr ? *factor_at : 1.f;
  const bool writes_half = list.has_half[chunk.slice] != 0;
  const bool half_gradient = list.is_half_gradient[chunk.slice] != 0;
  const std::int64_t start = list.starts[chunk.slice] + chunk.offset;
  const char* const gradients = static_cast<const char*>(list.gradients[chunk.slice]);
  const bool aligned = start % 4 == 0 && reinterpret_cast<std::uintptr_t>(gradients) % 16 == 0;
  const std::int64_t packed = aligned ? chunk.size / 4 * 4 : 0;
  for (std::int64_t i = threadIdx.x * 4; i < packed; i += kThreads * 4) {
    float g[4];
    if (half_gradient) {
      const uint2 raw = *reinterpret_cast<const uint2*>(gradients + 2 * (chunk.offset + i));
      g[0] = __uint_as_float(raw.x << 16);
      g[1] = __uint_as_float(raw.x & 0xffff0000u);
      g[2] = __uint_as_float(raw.y << 16);
      g[3] = __uint_as_float(raw.y & 0xffff0000u);
    } else {
      const float4 raw = *reinterpret_cast<const float4*>(gradients + 4 * (chunk.offset + i));
      g[0] = raw.x, g[1] = raw.y, g[2] = raw.z, g[3] = raw.w;
    }
    Pack<float> value = Pack<float>::load(values + start + i);
    Pack<float> first = Pack<float>::load(firsts + start + i), second{};
    if constexpr (kAdamw) second = Pack<float>::load(seconds + start + i);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      change(rule, step, factor * g[k], value.values[k], first.values[k], second.values[k]);
    }
    value.store(values + start + i);
    first.store(firsts + start + i);
    if constexpr (kAdamw) second.store(seconds + start + i);
    if (writes_half) {
      const __nv_bfloat162 pairs[2] = {__floats2bfloat162_rn(value.values[0], value.values[1]),
                                       __floats2bfloat162_rn(value.values[2], value.values[3])};
      *reinterpret_cast<uint2*>(halves + start + i) = *reinterpret_cast<const uint2*>(pairs);
    }
  }
  for (std::int64_t i = packed + threadIdx.x; i < chunk.size; i += kThreads) {
    float value = values[start + i], first = firsts[start + i];
    float second = kAdamw ? seconds[start + i] : 0.f;
    change(rule, step, factor * gradient_at(list, chunk.slice, chunk.offset + i), value, first,
           second);
    values[start + i] = value;
    firsts[start + i] = first;
    if (kAdamw) seconds[start + i] = second;
    if (writes_half) halves[start + i] = __float2bfloat16(value);
  }
}

/// Adds a block's share of the squares to partial[block]; in double, in a fixed order.
__device__ double block_sum(double value) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

__global__ void __launch_bounds__(kThreads)
    sum_squares(const __grid_constant__ SliceList list, bool add, float* partial) {
  const int chunks = list.first_chunk[list.count];
  double sum = 0;
  for (int block = blockIdx.x; block < chunks; block += gridDim.x) {
    const Chunk chunk = find_chunk(list, block);
    for (std::int64_t i = threadIdx.x; i < chunk.size; i += kThreads) {
      const float g = gradient_at(list, chunk.slice, chunk.offset + i);
      sum += double{g} * double{g};
    }
  }
  const double total = block_sum(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = static_cast<float>(total + (add ? double{partial[blockIdx.x]} : 0.0));
  }
}

__global__ void __launch_bounds__(kThreads)
    find_factor(const float* partial, float clip_norm, float* factor) {
  double sum = 0;
  for (int i = threadIdx.x; i < static_cast<int>(kNormBlocks); i += kThreads) {
    sum += double{partial[i]};
  }
  const double total = block_sum(sum);
  if (threadIdx.x == 0) {
    *factor = fminf(1.f, clip_norm / (static_cast<float>(sqrt(total)) + 1e-6f));
  }
}

SliceList make_list(std::span<const GradientSlice> slices) {
  SliceList list{};
  for (const GradientSlice& slice : slices) {
    const int i = list.count++;
    list.gradients[i] = slice.gradient;
    list.starts[i] = slice.start;
    list.sizes[i] = static_cast<std::int32_t>(slice.size);
    list.is_half_gradient[i] = slice.element == Element::kBfloat16;
    list.has_half[i] = slice.has_half;
    list.first_chunk[i + 1] =
        list.first_chunk[i] + static_cast<std::int32_t>(divide_up(slice.size, kChunk));
  }
  return list;
}

template <class Function>
void for_each_list(std::span<const GradientSlice> slices, Function&& function) {
  for (std::size_t start = 0; start < slices.size(); start += kMostSlices) {
    function(make_list(
        slices.subspan(start, std::min<std::size_t>(kMostSlices, slices.size() - start))));
  }
}

const float* clip(const Update& u, Stream stream) {
  if (!(u.clip_norm > 0)) return nullptr;
  bool add = false;
  for_each_list(u.slices, [&](const SliceList& list) {
    sum_squares<<<kNormBlocks, kThreads, 0, stream>>>(list, add, u.scratch);
    check_launch("sum_squares");
    add = true;
  });
  float* const factor = u.scratch + kNormBlocks;
  find_factor<<<1, kThreads, 0, stream>>>(u.scratch, u.clip_norm, factor);
  check_launch("find_factor");
  return factor;
}

}  // namespace

void update(const Update& u, Stream stream) {
  const float* const factor = clip(u, stream);
  const Rule rule{
      u.adamw,  u.nesterov && u.momentum > 0, u.momentum, u.weight_decay, u.beta1, u.beta2,
      u.epsilon};
  for_each_list(u.slices, [&](const SliceList& list) {
    const int blocks = list.first_chunk[list.count];
    if (blocks == 0) return;
    auto* const kernel = u.adamw ? update_chunks<true> : update_chunks<false>;
    kernel<<<blocks, kThreads, 0, stream>>>(list, rule, u.values, u.first, u.second,
                                            static_cast<__nv_bfloat16*>(u.halves), u.step, factor);
    check_launch("update");
  });
}

}  // namespace impart::cuda
