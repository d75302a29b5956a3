#pragma once

// What the kernels share. For .cu files only.

#include <cstdint>
#include <string>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "impart/core/error.h"
#include "impart/cuda/device.h"

namespace impart::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarp = 32;

/// After a launch.
inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string(kernel) + ": " + cudaGetErrorString(error));
}

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Multiprocessors of the current device.
inline int multiprocessors() {
  static const int count = [] {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value > 0 ? value : 1;
  }();
  return count;
}

/// 16 bytes of elements, as floats.
template <class T>
struct Pack {
  static constexpr int kWidth = 16 / sizeof(T);
  float values[kWidth];

  __device__ static Pack load(const T* from);
  __device__ void store(T* to) const;
};

template <>
__device__ inline Pack<float> Pack<float>::load(const float* from) {
  const float4 raw = *reinterpret_cast<const float4*>(from);
  return {{raw.x, raw.y, raw.z, raw.w}};
}

template <>
__device__ inline void Pack<float>::store(float* to) const {
  *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
}

template <>
__device__ inline Pack<__nv_bfloat16> Pack<__nv_bfloat16>::load(const __nv_bfloat16* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
  Pack pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    pack.values[2 * i] = __uint_as_float(words[i] << 16);
    pack.values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
  return pack;
}

template <>
__device__ inline void Pack<__nv_bfloat16>::store(__nv_bfloat16* to) const {
  __nv_bfloat162 pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(pairs);
}

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

/// Calls function(T{}) with the type that the elements have.
template <class Function>
void with_type(Element element, Function&& function) {
  if (element == Element::kFloat) {
    function(float{});
  } else {
    function(__nv_bfloat16{});
  }
}

}  // namespace impart::cuda
