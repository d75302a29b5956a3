#pragma once

#include <deque>
#include <vector>

#include "impart/cuda/device.h"

struct CUevent_st;

namespace impart::cuda {

/// Moments in the work of a GPU, told by its own clock: CUDA events, which are used again once they
/// are no longer needed.
class Marks {
 public:
  Marks() = default;
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  /// Sets a mark behind all that is on the stream. Never throws: what went wrong is thrown by the
  /// calls below.
  void set(Stream stream) noexcept;
  /// Seconds between each mark that the GPU has passed and the one before it, in their order, each
  /// told once. Does not wait. Error if the GPU has failed.
  std::vector<double> take_passed();
  /// Waits until the GPU has passed all marks. Error if it has failed.
  void wait();

 private:
  void check() const;

  std::deque<CUevent_st*> set_;  ///< the first was passed before
  std::vector<CUevent_st*> free_;
  int error_ = 0;  ///< a cudaError_t
};

}  // namespace impart::cuda
