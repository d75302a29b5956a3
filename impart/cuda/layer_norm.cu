#include <algorithm>
#include <type_traits>

#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/layer_norm.h"

namespace impart::cuda {
namespace {

constexpr int kRowWarps = 4;  ///< rows that a block has in work
constexpr int kMostPacks = 8;
constexpr int kColumns = 32, kColumnRows = 16;  ///< of a block that adds up partial sums

int width_of_pack(Element element) {
  return element == Element::kFloat ? Pack<float>::kWidth : Pack<__nv_bfloat16>::kWidth;
}

int packs_of(const NormRows& rows) {
  return static_cast<int>(divide_up(rows.width, kWarp * width_of_pack(rows.element)));
}

/// Blocks of the way back: each leaves a row of partial sums.
int backward_blocks(const NormRows& rows) {
  return static_cast<int>(
      std::min<std::int64_t>(divide_up(rows.rows, kRowWarps), std::int64_t{8} * multiprocessors()));
}

/// A warp has a row in its registers: lane l its packs l, l + 32, …
template <class T, int kPacks>
struct Row {
  static constexpr int kWidth = Pack<T>::kWidth;
  Pack<T> packs[kPacks];

  /// Calls visit(pack, column) for the lane's packs that are in the row.
  template <class Visit>
  __device__ static void visit(int width, Visit&& visit) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int column = (p * kWarp + static_cast<int>(threadIdx.x)) * kWidth;
      if (column < width) visit(p, column);
    }
  }
};

template <class T, int kPacks, bool kAdds>
__global__ void __launch_bounds__(kRowWarps* kWarp) norm_rows(const AddAndNorm n) {
  using Rows = Row<T, kPacks>;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowWarps + threadIdx.y;
  if (row >= n.rows.rows) return;
  const int width = static_cast<int>(n.rows.width);
  const std::int64_t start = row * width;
  Rows values;
  float total = 0;
  Rows::visit(width, [&](int p, int column) {
    Pack<T>& pack = values.packs[p];
    pack = Pack<T>::load(static_cast<const T*>(n.trunk) + start + column);
    if constexpr (kAdds) {
      const auto branch = Pack<T>::load(static_cast<const T*>(n.branch) + start + column);
#pragma unroll
      for (int i = 0; i < Rows::kWidth; ++i) {
        pack.values[i] = to_float(from_float<T>(pack.values[i] + branch.values[i]));
      }
      pack.store(static_cast<T*>(n.sum) + start + column);
    }
#pragma unroll
    for (int i = 0; i < Rows::kWidth; ++i) total += pack.values[i];
  });
  const float mean = warp_sum(total) / static_cast<float>(width);
  float squares = 0;
  Rows::visit(width, [&](int p, int) {
#pragma unroll
    for (int i = 0; i < Rows::kWidth; ++i) {
      const float distance = values.packs[p].values[i] - mean;
      squares += distance * distance;
    }
  });
  const float deviation = rsqrtf(warp_sum(squares) / static_cast<float>(width) + n.epsilon);
  if (threadIdx.x == 0) {
    n.mean[row] = mean;
    n.deviation[row] = deviation;
  }
  Rows::visit(width, [&](int p, int column) {
    const auto weight = Pack<T>::load(static_cast<const T*>(n.weight) + column);
    const auto bias = Pack<T>::load(static_cast<const T*>(n.bias) + column);
    Pack<T>& pack = values.packs[p];
#pragma unroll
    for (int i = 0; i < Rows::kWidth; ++i) {
      pack.values[i] = (pack.values[i] - mean) * deviation * weight.values[i] + bias.values[i];
    }
    pack.store(static_cast<T*>(n.output) + start + column);
  });
}

/// Adds up what the warps of a block have for the lane's columns, in their order, and writes it to
/// `into`, a row of floats.
template <class T, int kPacks>
__device__ void write_partial(const float (&mine)[kPacks][Row<T, kPacks>::kWidth], int width,
                              float* shared, float* into) {
  using Rows = Row<T, kPacks>;
  for (int warp = 0; warp < kRowWarps; ++warp) {
    if (threadIdx.y == warp) {
      Rows::visit(width, [&](int p, int column) {
#pragma unroll
        for (int i = 0; i < Rows::kWidth; ++i) {
          shared[column + i] = (warp == 0 ? 0.f : shared[column + i]) + mine[p][i];
        }
      });
    }
    __syncthreads();
  }
  const int thread = static_cast<int>(threadIdx.y * kWarp + threadIdx.x);
  for (int column = thread; column < width; column += kRowWarps * kWarp) {
    into[column] = shared[column];
  }
  __syncthreads();
}

template <class T, int kPacks>
__global__ void __launch_bounds__(kRowWarps* kWarp)
    differentiate_norms(const AddAndNormBackward n) {
  using Rows = Row<T, kPacks>;
  constexpr int kWidth = Rows::kWidth;
  extern __shared__ float shared[];
  const int width = static_cast<int>(n.rows.width);
  const float share = 1.f / static_cast<float>(width);
  float of_weight[kPacks][kWidth] = {}, of_bias[kPacks][kWidth] = {};
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowWarps + threadIdx.y;
       row < n.rows.rows; row += static_cast<std::int64_t>(gridDim.x) * kRowWarps) {
    const std::int64_t start = row * width;
    const float mean = n.mean[row], deviation = n.deviation[row];
    Rows normed, slopes;  // (sum - mean) · deviation, and grad_output · weight
    float total = 0, weighted = 0;
    Rows::visit(width, [&](int p, int column) {
      const auto gradient = Pack<T>::load(static_cast<const T*>(n.grad_output) + start + column);
      const auto weight = Pack<T>::load(static_cast<const T*>(n.weight) + column);
      normed.packs[p] = Pack<T>::load(static_cast<const T*>(n.sum) + start + column);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        float& x = normed.packs[p].values[i];
        x = (x - mean) * deviation;
        const float slope = gradient.values[i] * weight.values[i];
        slopes.packs[p].values[i] = slope;
        total += slope;
        weighted += slope * x;
        of_weight[p][i] += gradient.values[i] * x;
        of_bias[p][i] += gradient.values[i];
      }
    });
    total = warp_sum(total) * share;
    weighted = warp_sum(weighted) * share;
    Rows::visit(width, [&](int p, int column) {
      Pack<T> pack = {};
      if (n.grad_sum != nullptr) {
        pack = Pack<T>::load(static_cast<const T*>(n.grad_sum) + start + column);
      }
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        pack.values[i] +=
            deviation * (slopes.packs[p].values[i] - total - normed.packs[p].values[i] * weighted);
      }
      pack.store(static_cast<T*>(n.grad_input) + start + column);
    });
  }
  float* const partial = n.scratch + std::int64_t{2} * blockIdx.x * width;
  write_partial<T, kPacks>(of_weight, width, shared, partial);
  write_partial<T, kPacks>(of_bias, width, shared, partial + width);
}

/// Columns of the partial sums, [blocks, 2 · width]: weights' gradients, then biases'.
template <class T>
__global__ void add_partials(const float* partials, int blocks, int width, T* grad_weight,
                             T* grad_bias) {
  __shared__ float sums[kColumnRows][kColumns];
  const int column = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  float sum = 0;
  if (column < 2 * width) {
    for (int block = static_cast<int>(threadIdx.y); block < blocks; block += kColumnRows) {
      sum += partials[std::int64_t{2} * block * width + column];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= 2 * width) return;
  for (int row = 1; row < kColumnRows; ++row) sum += sums[row][threadIdx.x];
  (column < width ? grad_weight[column] : grad_bias[column - width]) = from_float<T>(sum);
}

/// Calls function(T{}, integral constant of the packs of a lane).
template <class Function>
void with_packs(const NormRows& rows, Function&& function) {
  const int packs = packs_of(rows);
  with_type(rows.element, [&](auto type) {
    const auto call = [&](auto count) { function(type, count); };
    if (packs <= 1) return call(std::integral_constant<int, 1>());
    if (packs <= 2) return call(std::integral_constant<int, 2>());
    if (packs <= 3) return call(std::integral_constant<int, 3>());
    if (packs <= 4) return call(std::integral_constant<int, 4>());
    if (packs <= 6) return call(std::integral_constant<int, 6>());
    call(std::integral_constant<int, kMostPacks>());
  });
}

}  // namespace

bool can_norm_rows(const NormRows& rows) {
  return rows.rows > 0 && rows.width > 0 && rows.width % width_of_pack(rows.element) == 0 &&
         packs_of(rows) <= kMostPacks;
}

void add_and_norm(const AddAndNorm& n, Stream stream) {
  const dim3 threads(kWarp, kRowWarps);
  const auto blocks = static_cast<unsigned>(divide_up(n.rows.rows, kRowWarps));
  with_packs(n.rows, [&](auto type, auto packs) {
    using T = decltype(type);
    constexpr int kPacks = decltype(packs)::value;
    if (n.branch != nullptr) {
      norm_rows<T, kPacks, true><<<blocks, threads, 0, stream>>>(n);
    } else {
      norm_rows<T, kPacks, false><<<blocks, threads, 0, stream>>>(n);
    }
  });
  check_launch("add_and_norm");
}

std::size_t norm_scratch(const NormRows& rows) {
  return static_cast<std::size_t>(2 * backward_blocks(rows) * rows.width);
}

void add_and_norm_backward(const AddAndNormBackward& n, Stream stream) {
  const int blocks = backward_blocks(n.rows), width = static_cast<int>(n.rows.width);
  with_packs(n.rows, [&](auto type, auto packs) {
    using T = decltype(type);
    constexpr int kPacks = decltype(packs)::value;
    differentiate_norms<T, kPacks>
        <<<blocks, dim3(kWarp, kRowWarps), width * sizeof(float), stream>>>(n);
    add_partials<T><<<static_cast<unsigned>(divide_up(2 * width, kColumns)),
                      dim3(kColumns, kColumnRows), 0, stream>>>(
        n.scratch, blocks, width, static_cast<T*>(n.grad_weight), static_cast<T*>(n.grad_bias));
  });
  check_launch("add_and_norm_backward");
}

}  // namespace impart::cuda
