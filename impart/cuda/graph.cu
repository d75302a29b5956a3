#include <algorithm>
#include <vector>

#include "impart/cuda/graph.h"
#include "impart/cuda/kernel_parts.h"

namespace impart::cuda {
namespace {

__global__ void __launch_bounds__(kThreads)
    fill_words(std::uint32_t* to, std::uint32_t value, std::int64_t count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    to[i] = value;
  }
}

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw Error(std::string("replace_memsets: ") + cudaGetErrorString(error));
  }
}

/// The nodes beside a node; nothing if an edge is of a special kind.
using GetNodes = cudaError_t(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, size_t*);

bool find_neighbours(GetNodes* get, cudaGraphNode_t node, std::vector<cudaGraphNode_t>& found) {
  size_t count = 0;
  check(get(node, nullptr, nullptr, &count));
  found.resize(count);
  std::vector<cudaGraphEdgeData> edges(count);
  if (count > 0) check(get(node, found.data(), edges.data(), &count));
  return std::all_of(edges.begin(), edges.end(), [](const cudaGraphEdgeData& edge) {
    return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
  });
}

/// What a memset writes, as words.
struct Words {
  void* to = nullptr;
  std::uint32_t value = 0;
  std::int64_t count = 0;  ///< 0: it is not of whole words in one line
};

Words describe(const cudaMemsetParams& memset) {
  const std::size_t bytes = memset.width * memset.elementSize;
  const bool aligned = reinterpret_cast<std::uintptr_t>(memset.dst) % 4 == 0 && bytes % 4 == 0;
  if (memset.height > 1 || !aligned) return {};
  std::uint32_t value = memset.value;
  if (memset.elementSize == 1) value = (value & 255) * 0x01010101u;
  if (memset.elementSize == 2) value = (value & 65535) * 0x00010001u;
  return {memset.dst, value, static_cast<std::int64_t>(bytes / 4)};
}

bool replace(cudaGraph_t graph, cudaGraphNode_t node) {
  cudaMemsetParams memset{};
  check(cudaGraphMemsetNodeGetParams(node, &memset));
  Words words = describe(memset);
  std::vector<cudaGraphNode_t> before, after;
  const bool plain = find_neighbours(cudaGraphNodeGetDependencies, node, before) &&
                     find_neighbours(cudaGraphNodeGetDependentNodes, node, after);
  if (!plain || words.count == 0) return false;
  constexpr std::int64_t kPerBlock = 4 * kThreads;
  void* arguments[] = {&words.to, &words.value, &words.count};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(fill_words);
  kernel.gridDim = dim3(static_cast<unsigned>(
      std::min<std::int64_t>(divide_up(words.count, kPerBlock), 4 * multiprocessors())));
  kernel.blockDim = dim3(kThreads);
  kernel.kernelParams = arguments;
  cudaGraphNode_t added = nullptr;
  check(cudaGraphAddKernelNode(&added, graph, before.data(), before.size(), &kernel));
  for (const cudaGraphNode_t next : after) {
    check(cudaGraphAddDependencies(graph, &added, &next, nullptr, 1));
  }
  check(cudaGraphDestroyNode(node));
  return true;
}

}  // namespace

int replace_memsets(Graph graph) {
  size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count));
  int replaced = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeMemset && replace(graph, node)) ++replaced;
  }
  return replaced;
}

}  // namespace impart::cuda
