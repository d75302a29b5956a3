#include "impart/cuda/kernel_parts.h"
#include "impart/cuda/row_signals.h"

namespace impart::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffu;

/// The largest value of a warp, and its smallest index among equals.
struct Largest {
  float value;
  int index;
};

__device__ Largest warp_largest(Largest mine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const Largest other{__shfl_xor_sync(kAll, mine.value, distance),
                        __shfl_xor_sync(kAll, mine.index, distance)};
    const bool wins =
        other.value > mine.value || (other.value == mine.value && other.index < mine.index);
    if (wins) mine = other;
  }
  return mine;
}

__global__ void __launch_bounds__(kThreads) measure(const MeasureSignals m) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t row = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (row >= m.rows) return;
  const std::int64_t first_row = m.step != nullptr ? m.step->first_row : 0;
  const std::int64_t id = m.ids != nullptr ? m.ids[first_row + row] : first_row + row;
  const int label = static_cast<int>(m.labels[id]);
  const float* const logits = m.logits + row * m.classes;
  const int classes = static_cast<int>(m.classes);

  Largest best{-INFINITY, classes};
  float best_other = -INFINITY;
  for (int c = lane; c < classes; c += kWarp) {
    const float value = logits[c];
    if (value > best.value) best = {value, c};
    if (c != label) best_other = fmaxf(best_other, value);
  }
  best = warp_largest(best);
  best_other = warp_largest({best_other, 0}).value;

  float sum = 0, weighted = 0;
  for (int c = lane; c < classes; c += kWarp) {
    const float shifted = logits[c] - best.value;
    const float exponential = expf(shifted);
    sum += exponential;
    weighted += exponential == 0 ? 0 : exponential * shifted;
  }
  sum = warp_sum(sum);
  weighted = warp_sum(weighted);
  const float log_sum = logf(sum);
  const float own = logits[label];

  float error = 0;
  const float weight = m.weights != nullptr ? m.weights[first_row + row] : 1.f;
  const float scale = weight * (m.step != nullptr ? m.step->loss_scale : 1.f);
  const float spread = m.smoothing / static_cast<float>(classes);
  for (int c = lane; c < classes; c += kWarp) {
    const float target = c == label ? 1.f : 0.f;
    const float difference = expf(logits[c] - best.value) / sum - target;
    error += difference * difference;
    if (m.grad_logits == nullptr) continue;
    m.grad_logits[row * m.classes + c] = (difference + m.smoothing * target - spread) * scale;
  }
  const float error_norm = sqrtf(warp_sum(error));

  float squares = 0;
  if (m.signals.places.rows[static_cast<int>(importance::Signal::kGradientBound)] >= 0) {
    const float* const features = m.features + row * m.feature_count;
    for (std::int64_t f = lane; f < m.feature_count; f += kWarp) {
      squares += features[f] * features[f];
    }
    squares = warp_sum(squares);
  }
  if (lane != 0 || m.signals.out == nullptr) return;
  write_signals(m.signals, first_row + row,
                {.own = own,
                 .other = best_other,
                 .largest = best.value,
                 .sum = sum,
                 .weighted = weighted,
                 .log_sum = log_sum,
                 .error_norm = error_norm,
                 .feature_squares = squares,
                 .is_correct = best.index == label});
}

}  // namespace

void measure_signals(const MeasureSignals& m, Stream stream) {
  if (m.rows == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up(m.rows, kThreads / kWarp));
  measure<<<blocks, kThreads, 0, stream>>>(m);
  check_launch("measure_signals");
}

}  // namespace impart::cuda
