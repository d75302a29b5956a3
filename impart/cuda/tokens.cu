#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/row_signals.h"
#include "impart/cuda/tokens.h"

namespace impart::cuda {
namespace {

constexpr unsigned kAllRows = 0xffffffffu;
constexpr int kWarps = kThreads / kWarp;

/// What is known of a part of a row: its largest logit, and sums relative to it.
struct Summary {
  float largest;
  int index;       ///< of the largest, the first of equals
  float other;     ///< the largest besides the label's
  float sum;       ///< of exp(x - largest)
  float weighted;  ///< of exp(x - largest) · (x - largest)
  float squares;   ///< of exp(x - largest)² besides the label's

  /// Makes the sums relative to a larger logit.
  __device__ void raise(float to) {
    if (to == largest) return;
    const float factor = __expf(largest - to);
    weighted = factor == 0 ? 0 : factor * (weighted + (largest - to) * sum);
    sum *= factor;
    squares *= factor * factor;
    largest = to;
  }

  __device__ void join(Summary that) {
    const bool takes = that.largest > largest || (that.largest == largest && that.index < index);
    const int first = takes ? that.index : index;
    const float top = fmaxf(largest, that.largest);
    raise(top);
    that.raise(top);
    index = first;
    other = fmaxf(other, that.other);
    sum += that.sum;
    weighted += that.weighted;
    squares += that.squares;
  }
};

__device__ Summary of_nothing() {
  return {-INFINITY, 0x7fffffff, -INFINITY, 0, 0, 0};
}

__device__ Summary from_lane(const Summary& mine, int distance) {
  Summary that;
  that.largest = __shfl_xor_sync(kAllRows, mine.largest, distance);
  that.index = __shfl_xor_sync(kAllRows, mine.index, distance);
  that.other = __shfl_xor_sync(kAllRows, mine.other, distance);
  that.sum = __shfl_xor_sync(kAllRows, mine.sum, distance);
  that.weighted = __shfl_xor_sync(kAllRows, mine.weighted, distance);
  that.squares = __shfl_xor_sync(kAllRows, mine.squares, distance);
  return that;
}

/// Takes in `kCount` neighbouring logits. `kFull`: all sums, not only what the loss needs.
template <bool kFull, int kCount>
__device__ void take(Summary& row, const float* values, int first, int label) {
  float top = row.largest;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float value = values[i];
    if (kFull && first + i != label) row.other = fmaxf(row.other, value);
    if (value > top) {
      top = value;
      row.index = first + i;
    }
  }
  row.raise(top);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float shifted = values[i] - row.largest;
    // While nothing but -inf was seen there is nothing to add.
    const float exponential =
        row.largest == -INFINITY && values[i] == -INFINITY ? 0 : __expf(shifted);
    row.sum += exponential;
    if (!kFull) continue;
    row.weighted += exponential == 0 ? 0 : exponential * shifted;
    if (first + i != label) row.squares += exponential * exponential;
  }
}

/// The whole row's summary, in thread 0: lanes in a tree, then warps in order.
__device__ Summary join_block(Summary mine) {
  __shared__ Summary warps[kWarps];
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    mine.join(from_lane(mine, distance));
  }
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kWarps; ++warp) mine.join(warps[warp]);
  }
  return mine;
}

/// Whether rows can be read 16 bytes at a time.
template <class T>
bool has_packs(const TokenRows& tokens) {
  return tokens.classes % Pack<T>::kWidth == 0 &&
         reinterpret_cast<std::uintptr_t>(tokens.logits) % 16 == 0;
}

/// A block takes a row.
template <class T, bool kFull, bool kPacked>
__global__ void __launch_bounds__(kThreads) measure_rows(const MeasureTokens m) {
  const std::int64_t row = blockIdx.x;
  const auto label = static_cast<int>(m.tokens.labels[row]);
  const auto classes = static_cast<int>(m.tokens.classes);
  const T* const logits = static_cast<const T*>(m.tokens.logits) + row * m.tokens.classes;
  Summary mine = of_nothing();
  if constexpr (kPacked) {
    constexpr int kWidth = Pack<T>::kWidth;
    for (int at = static_cast<int>(threadIdx.x) * kWidth; at < classes; at += kThreads * kWidth) {
      take<kFull, kWidth>(mine, Pack<T>::load(logits + at).values, at, label);
    }
  } else {
    for (int at = static_cast<int>(threadIdx.x); at < classes; at += kThreads) {
      const float value = to_float(logits[at]);
      take<kFull, 1>(mine, &value, at, label);
    }
  }
  const Summary all = join_block(mine);
  if (threadIdx.x != 0) return;
  const bool counts = label >= 0;
  const float log_sum = logf(all.sum);
  const float own = counts ? to_float(logits[label]) : 0;
  const float wrong = 1 - __expf(own - all.largest) / all.sum;
  const RowLook look{.own = own,
                     .other = all.other,
                     .largest = all.largest,
                     .sum = all.sum,
                     .weighted = all.weighted,
                     .log_sum = log_sum,
                     .error_norm = sqrtf(wrong * wrong + all.squares / (all.sum * all.sum)),
                     .feature_squares = 0,
                     .is_correct = all.index == label};
  m.loss[row] = counts ? look.loss() : 0;
  m.log_sum[row] = log_sum + all.largest;
  if (kFull) write_signals(m.signals, row, look, counts);
}

template <class T, bool kPacked>
__global__ void __launch_bounds__(kThreads) differentiate_rows(const DifferentiateTokens d) {
  const std::int64_t row = blockIdx.x;
  const auto label = static_cast<int>(d.tokens.labels[row]);
  const auto classes = static_cast<int>(d.tokens.classes);
  const T* const logits = static_cast<const T*>(d.tokens.logits) + row * d.tokens.classes;
  T* const gradient = static_cast<T*>(d.gradient) + row * d.tokens.classes;
  const float log_sum = d.log_sum[row];
  const float scale = label >= 0 ? d.scale[row] : 0;
  const auto slope = [&](float logit, int at) {
    return scale == 0 ? 0 : (__expf(logit - log_sum) - (at == label ? 1.f : 0.f)) * scale;
  };
  if constexpr (kPacked) {
    constexpr int kWidth = Pack<T>::kWidth;
    for (int at = static_cast<int>(threadIdx.x) * kWidth; at < classes; at += kThreads * kWidth) {
      Pack<T> pack = Pack<T>::load(logits + at);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) pack.values[i] = slope(pack.values[i], at + i);
      pack.store(gradient + at);
    }
  } else {
    for (int at = static_cast<int>(threadIdx.x); at < classes; at += kThreads) {
      gradient[at] = from_float<T>(slope(to_float(logits[at]), at));
    }
  }
}

template <class T, bool kFull>
void launch_measure(const MeasureTokens& m, Stream stream) {
  const auto blocks = static_cast<unsigned>(m.tokens.rows);
  if (has_packs<T>(m.tokens)) {
    measure_rows<T, kFull, true><<<blocks, kThreads, 0, stream>>>(m);
  } else {
    measure_rows<T, kFull, false><<<blocks, kThreads, 0, stream>>>(m);
  }
}

}  // namespace

void measure_tokens(const MeasureTokens& m, Stream stream) {
  if (m.tokens.rows == 0) return;
  with_type(m.tokens.element, [&](auto type) {
    using T = decltype(type);
    m.signals.out != nullptr ? launch_measure<T, true>(m, stream)
                             : launch_measure<T, false>(m, stream);
  });
  check_launch("measure_tokens");
}

void differentiate_tokens(const DifferentiateTokens& d, Stream stream) {
  if (d.tokens.rows == 0) return;
  const auto blocks = static_cast<unsigned>(d.tokens.rows);
  with_type(d.tokens.element, [&](auto type) {
    using T = decltype(type);
    const bool packed =
        has_packs<T>(d.tokens) && reinterpret_cast<std::uintptr_t>(d.gradient) % 16 == 0;
    if (packed) {
      differentiate_rows<T, true><<<blocks, kThreads, 0, stream>>>(d);
    } else {
      differentiate_rows<T, false><<<blocks, kThreads, 0, stream>>>(d);
    }
  });
  check_launch("differentiate_tokens");
}

}  // namespace impart::cuda
