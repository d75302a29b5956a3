// For builds without CUDA.

#include "impart/core/error.h"
#include "impart/train/device/step_graph.h"

namespace impart::train {

struct GraphMemory::State {};
struct StepGraph::State {};

GraphMemory::GraphMemory() = default;
GraphMemory::~GraphMemory() = default;

StepGraph::StepGraph() {
  throw Error("this impart was built without CUDA (IMPART_CUDA=OFF)");
}
StepGraph::~StepGraph() = default;
void StepGraph::record(const std::function<void()>&, GraphMemory*) {}
void StepGraph::replay() {}
void leave_default_stream() {}

}  // namespace impart::train
