#pragma once

struct CUgraph_st;

namespace impart::cuda {

/// A cudaGraph_t.
using Graph = CUgraph_st*;

/// Libraries clear their working memory with memset nodes. Before and after such a node a recorded
/// graph pauses for some microseconds; a kernel that does the same does not. Replaces those that
/// are plain enough, before the graph is instantiated, and returns how many.
int replace_memsets(Graph graph);

}  // namespace impart::cuda
