// For builds without CUDA.

#include "impart/core/error.h"
#include "impart/train/device/step_graph.h"

namespace impart::train {

struct StepGraph::State {};

StepGraph::StepGraph() {
  throw Error("this impart was built without CUDA (IMPART_CUDA=OFF)");
}
StepGraph::~StepGraph() = default;
void StepGraph::record(const std::function<void()>&) {}
void StepGraph::replay() {}
void leave_default_stream() {}

}  // namespace impart::train
