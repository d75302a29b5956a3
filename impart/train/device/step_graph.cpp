#include "impart/train/device/step_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "impart/cuda/graph.h"
#include "impart/tensors/recording.h"

namespace impart::train {

/// Memory of LibTorch's for graphs. It takes no further graph once the last of it is gone.
struct GraphPool {
  decltype(at::cuda::graph_pool_handle()) id = at::cuda::graph_pool_handle();
};

struct GraphMemory::State {
  std::weak_ptr<GraphPool> pool;  ///< of the graphs that there are

  std::shared_ptr<GraphPool> current_pool() {
    std::shared_ptr<GraphPool> current = pool.lock();
    if (!current) pool = current = std::make_shared<GraphPool>();
    return current;
  }
};

GraphMemory::GraphMemory() : state_(std::make_unique<State>()) {}
GraphMemory::~GraphMemory() = default;

struct StepGraph::State {
  std::shared_ptr<GraphPool> pool;  ///< null: a pool of its own
  at::cuda::CUDAGraph graph{/*keep_graph=*/true};
};

StepGraph::StepGraph() : state_(std::make_unique<State>()) {}

// A graph is on the list of the process's random generator, which is not guarded against threads
// that take graphs off it while others put theirs on.
StepGraph::~StepGraph() {
  const std::lock_guard lock(tensors::recording_mutex());
  state_.reset();
}

void StepGraph::record(const std::function<void()>& work, GraphMemory* memory) {
  const std::lock_guard lock(tensors::recording_mutex());
  if (memory != nullptr) state_->pool = memory->state_->current_pool();
  const auto pool = state_->pool ? state_->pool->id : decltype(GraphPool::id){0, 0};
  // Other threads may go on with their own work meanwhile.
  state_->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    state_->graph.capture_end();
    throw;
  }
  state_->graph.capture_end();
  cuda::replace_memsets(state_->graph.raw_cuda_graph());
  state_->graph.instantiate();
}

void StepGraph::replay() {
  state_->graph.replay();
}

void leave_default_stream() {
  const auto current = c10::cuda::getCurrentCUDAStream();
  if (current != c10::cuda::getDefaultCUDAStream()) return;
  // A device cannot be waited for while any thread records.
  const std::lock_guard lock(tensors::recording_mutex());
  c10::cuda::device_synchronize();
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/true));
}

}  // namespace impart::train
