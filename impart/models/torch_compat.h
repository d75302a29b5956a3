#pragma once

// Differences between LibTorch 1.13 and 2.x, in one place.

#include <ATen/Context.h>
#include <torch/version.h>

namespace impart {

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

}  // namespace impart
