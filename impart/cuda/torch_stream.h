#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "impart/cuda/device.h"

namespace impart::cuda {

/// The stream of the current device that torch puts its work on at the moment.
Stream current_stream();

/// A second stream, for work whose results are needed only later: it fills the GPU where small
/// kernels leave it idle. Used by one thread at a time.
class SideStream {
 public:
  SideStream();
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Lets `work` start kernels that run after everything that is on the current stream now. The
  /// tensors that it reads are kept until `join`.
  void start(const std::function<void()>& work, std::vector<at::Tensor> read);
  /// What comes next on the current stream runs after all that was started.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impart::cuda
