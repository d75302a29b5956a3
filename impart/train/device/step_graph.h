#pragma once

#include <functional>
#include <memory>

namespace impart::train {

/// Memory that several recorded graphs share. They must not run at the same time, and none may
/// leave anything in it for later.
class GraphMemory {
 public:
  GraphMemory();
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  friend class StepGraph;
  struct State;
  std::unique_ptr<State> state_;
};

/// Work for a GPU, recorded once and then replayed with one call: a CUDA graph. It uses the same
/// memory every time, so what it reads and writes must stay where it is.
class StepGraph {
 public:
  StepGraph();
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// Records what `work` starts, without running it. It must not wait for the device or copy from
  /// the host, and must have run before, so that libraries have chosen their algorithms. The stream
  /// must not be the default one (leave_default_stream). Without `memory` it has its own.
  void record(const std::function<void()>& work, GraphMemory* memory = nullptr);
  /// Starts the recorded work.
  void replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lets this thread put its work on a stream that can be recorded. Work that is under way is
/// waited for.
void leave_default_stream();

}  // namespace impart::train
