#pragma once

#include <cstdint>

struct CUstream_st;

/// Kernels for NVIDIA GPUs, behind plain functions: no torch, no CUDA header for whoever calls.
/// A build without CUDA has the same functions; they throw.
///
/// All pointers are to memory of the device, all functions only start work on a stream and return.
/// They throw Error if it cannot be started. All sums are taken in a fixed order: equal inputs give
/// equal bits.
namespace impart::cuda {

/// A cudaStream_t.
using Stream = CUstream_st*;

/// What the elements of an array are. Arithmetic is in float for both.
enum class Element { kFloat, kBfloat16 };

/// Whether this build has kernels.
bool has_kernels();

/// A new stream of the current device, of the highest priority. It is never destroyed.
Stream make_stream();

/// What changes from one training step to the next. Kernels of a recorded step read it from the
/// device, so that a record serves all steps.
struct StepState {
  std::int64_t first_row = 0;  ///< of the step, in the epoch's list of visits
  float rate = 0;              ///< learning rate
  float loss_scale = 1;        ///< 1 / examples of the step over all processes
  /// AdamW: 1 - beta1^t and sqrt(1 - beta2^t).
  float correction1 = 1, correction2 = 1;
};

/// Stores `value` at `state`, after what is on the stream already.
void set_step(StepState* state, const StepState& value, Stream stream);

}  // namespace impart::cuda
