#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "impart/cuda/device.h"

namespace impart::tensors {

/// Makes a GPU the current device of this thread.
void use_device(int index);

/// The stream of the current device that torch puts its work on at the moment.
cuda::Stream current_stream();

/// A second stream, for work whose results are needed only later: it fills the GPU where small
/// kernels leave it idle. Its priority is low. Used by one thread at a time.
class SideStream {
 public:
  SideStream();
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// What comes next on the side stream runs after everything that is on the current stream now.
  void wait();
  /// Lets `work` start kernels on the side stream. What it reads is kept until `join`.
  void run(const std::function<void()>& work, std::vector<at::Tensor> read);
  /// What comes next on the current stream runs after everything on the side stream.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Places on the device that copies from the host fill in turn, beside what computes: a stream of
/// its own. Used by one thread at a time.
class CopyStream {
 public:
  explicit CopyStream(std::size_t places);
  ~CopyStream();
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  /// What is on the current stream now is the last that needs what the place holds.
  void release(std::size_t place);
  /// Lets `copies` fill a place, once it is released. Does not wait.
  void fill(std::size_t place, const std::function<void()>& copies);
  /// What comes next on the current stream runs after the place was filled.
  void join(std::size_t place);

  /// Whether the place was filled: what it was copied from may change. Does not wait.
  bool is_filled(std::size_t place) const;
  /// Waits until all places were.
  void wait() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Streams side by side, for work of many small kernels that does not depend on each other. Used by
/// one thread at a time.
class StreamLanes {
 public:
  explicit StreamLanes(std::size_t count);
  ~StreamLanes();
  StreamLanes(const StreamLanes&) = delete;
  StreamLanes& operator=(const StreamLanes&) = delete;

  std::size_t count() const;
  /// What comes next on the lanes runs after everything that is on the current stream now.
  void fork();
  /// Lets `work` start kernels on a lane.
  void run(std::size_t lane, const std::function<void()>& work);
  /// What comes next on the current stream runs after everything on the lanes.
  void join();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impart::tensors
