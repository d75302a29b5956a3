#include <string>

#include <cuda_runtime.h>

#include "impart/core/error.h"
#include "impart/cuda/marks.h"

namespace impart::cuda {

Marks::~Marks() {
  free_.insert(free_.end(), set_.begin(), set_.end());
  for (CUevent_st* event : free_) cudaEventDestroy(event);
}

void Marks::set(Stream stream) noexcept {
  CUevent_st* event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  } else if (const cudaError_t made = cudaEventCreate(&event); made != cudaSuccess) {
    error_ = made;
    return;
  }
  set_.push_back(event);
  const cudaError_t recorded = cudaEventRecord(event, stream);
  if (recorded != cudaSuccess) error_ = recorded;
}

void Marks::check() const {
  if (error_ == cudaSuccess) return;
  throw Error(std::string("timing a GPU: ") + cudaGetErrorString(static_cast<cudaError_t>(error_)));
}

std::vector<double> Marks::take_passed() {
  check();
  std::vector<double> gaps;
  while (set_.size() > 1) {
    const cudaError_t state = cudaEventQuery(set_[1]);
    if (state == cudaErrorNotReady) break;
    float milliseconds = 0;
    error_ = state == cudaSuccess ? cudaEventElapsedTime(&milliseconds, set_[0], set_[1]) : state;
    check();
    gaps.push_back(1e-3 * double{milliseconds});
    free_.push_back(set_.front());
    set_.pop_front();
  }
  return gaps;
}

void Marks::wait() {
  check();
  if (set_.empty()) return;
  error_ = cudaEventSynchronize(set_.back());
  check();
}

}  // namespace impart::cuda
