#pragma once

#include <cmath>
#include <limits>

#include <ATen/Context.h>
#include <torch/torch.h>
#include <torch/version.h>

/// Where LibTorch 1.13 and 2.x differ.
namespace impart::tensors {

/// softmax(q kᵀ / √d + mask) v of [B, H, T, d] each; `mask` is undefined or added, broadcast to
/// [B, H, T, T]. If `causal`, position t sees 0 .. t, and there is no mask.
#if TORCH_VERSION_MAJOR >= 2
inline torch::Tensor scaled_dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                                  const torch::Tensor& v, const torch::Tensor& mask,
                                                  bool causal) {
  constexpr double kDropped = 0;
  if (!mask.defined()) return at::scaled_dot_product_attention(q, k, v, {}, kDropped, causal);
  return at::scaled_dot_product_attention(q, k, v, mask, kDropped, causal);
}
#else
inline torch::Tensor scaled_dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                                  const torch::Tensor& v, const torch::Tensor& mask,
                                                  bool causal) {
  const std::int64_t batch = q.size(0) * q.size(1), tokens = q.size(2), width = q.size(3);
  const auto stack = [&](const torch::Tensor& x) { return x.reshape({batch, tokens, width}); };
  torch::Tensor added = mask.defined() ? mask : torch::zeros({1}, q.options());
  if (causal) {
    const double hidden = -std::numeric_limits<double>::infinity();
    added =
        torch::full({tokens, tokens}, hidden, q.options()).triu(1).expand({batch, tokens, tokens});
  } else {
    added = added.expand({q.size(0), q.size(1), tokens, tokens}).reshape({batch, tokens, tokens});
  }
  const torch::Tensor scores =
      torch::baddbmm(added, stack(q), stack(k).transpose(1, 2),
                     /*beta=*/1, 1 / std::sqrt(static_cast<double>(width)));
  return torch::bmm(torch::softmax(scores, -1), stack(v)).view(q.sizes());
}
#endif

}  // namespace impart::tensors

namespace impart::tensors {

/// How many algorithms cuDNN tries for a new shape before it chooses the fastest; 0: all. Nothing
/// where LibTorch does not know it.
inline void set_cudnn_trials(int count) {
#if TORCH_VERSION_MAJOR >= 2
  at::globalContext().setBenchmarkLimitCuDNN(count);
#else
  (void)count;
#endif
}

/// While it lives, cuDNN tries algorithms for shapes that are new to it, or takes its first guess.
class BenchmarkMode {
 public:
  explicit BenchmarkMode(bool tries) : before_(at::globalContext().benchmarkCuDNN()) {
    at::globalContext().setBenchmarkCuDNN(before_ && tries);
  }
  ~BenchmarkMode() { at::globalContext().setBenchmarkCuDNN(before_); }
  BenchmarkMode(const BenchmarkMode&) = delete;
  BenchmarkMode& operator=(const BenchmarkMode&) = delete;

 private:
  bool before_;
};

}  // namespace impart::tensors
