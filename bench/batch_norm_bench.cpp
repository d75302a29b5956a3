// What it costs to keep stacked workers apart in batch norm, forward and backward.
//
//   build/release/bin/batch_norm_bench
//
// Outputs and gradients are checked against torch::batch_norm on each worker's rows before anything
// is timed; `ratio` compares with torch::batch_norm on the whole batch, as one worker, in turns in
// the same run. Sizes are those of a ResNet-18 on images of 32x32.

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "impart/core/random.h"
#include "impart/models/layers/worker_batch_norm.h"

namespace impart::bench {
namespace {

constexpr std::int64_t kBatch = 256;
constexpr double kEpsilon = 1e-5;

struct Layer {
  torch::Tensor x, weight, bias, grad_output;
};

torch::Tensor random_tensor(at::IntArrayRef shape, std::uint32_t stream) {
  torch::Tensor tensor = torch::empty(shape);
  RandomStream random({.seed = 1, .purpose = Purpose("bench"), .epoch = stream});
  float* data = tensor.data_ptr<float>();
  std::generate(data, data + tensor.numel(), [&] { return static_cast<float>(random.normal()); });
  return tensor;
}

Layer make_layer(std::int64_t channels, std::int64_t size) {
  const std::vector<std::int64_t> shape = {kBatch, channels, size, size};
  return {random_tensor(shape, 0).requires_grad_(true),
          random_tensor({channels}, 1).requires_grad_(true),
          random_tensor({channels}, 2).requires_grad_(true), random_tensor(shape, 3)};
}

models::WorkerLayout even_layout(std::int64_t workers) {
  models::WorkerLayout layout{.starts = {}};
  for (std::int64_t w = 0; w <= workers; ++w) layout.starts.push_back(w * kBatch / workers);
  return layout;
}

torch::Tensor torch_norm(const Layer& layer, const torch::Tensor& x) {
  return torch::batch_norm(x, layer.weight, layer.bias, {}, {}, /*training=*/true,
                           /*momentum=*/0.1, kEpsilon, /*cudnn_enabled=*/true);
}

torch::Tensor our_norm(const Layer& layer, const models::WorkerLayout& layout) {
  return models::normalise_by_worker(layer.x, layer.weight, layer.bias, layout, kEpsilon).output;
}

/// The gradients by x, weight and bias.
torch::autograd::variable_list differentiate(const Layer& layer, const torch::Tensor& output) {
  return torch::autograd::grad({output}, {layer.x, layer.weight, layer.bias}, {layer.grad_output});
}

void check(const Layer& layer, const models::WorkerLayout& layout) {
  std::vector<torch::Tensor> parts;
  for (std::int64_t w = 0; w < layout.workers(); ++w) {
    parts.push_back(torch_norm(layer, layer.x.narrow(0, layout.starts[w], layout.rows(w))));
  }
  const torch::Tensor expected = torch::cat(parts), output = our_norm(layer, layout);
  require(torch::allclose(output, expected, 1e-4, 1e-5), "output");
  const auto ours = differentiate(layer, output), theirs = differentiate(layer, expected);
  require(torch::allclose(ours[0], theirs[0], 1e-3, 1e-4), "gradient by the input");
  require(torch::allclose(ours[1], theirs[1], 1e-3, 1e-2), "gradient by the weight");
  require(torch::allclose(ours[2], theirs[2], 1e-3, 1e-2), "gradient by the bias");
}

void time_layer(benchmark::State& state, std::int64_t channels, std::int64_t size,
                std::int64_t workers) {
  const Layer layer = make_layer(channels, size);
  const models::WorkerLayout layout = even_layout(workers);
  check(layer, layout);
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    theirs.push_back(seconds_of([&] { differentiate(layer, torch_norm(layer, layer.x)); }));
    ours.push_back(seconds_of([&] { differentiate(layer, our_norm(layer, layout)); }));
    state.SetIterationTime(ours.back());
  }
  const auto median = [](std::vector<double>& seconds) {
    std::ranges::nth_element(seconds, seconds.begin() + seconds.size() / 2);
    return seconds[seconds.size() / 2];
  };
  state.counters["median_ms"] = 1e3 * median(ours);
  state.counters["torch_ms"] = 1e3 * median(theirs);
  state.counters["ratio"] = median(ours) / median(theirs);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  namespace ib = impart::bench;
  const std::pair<std::int64_t, std::int64_t> layers[] = {{64, 16}, {64, 8}, {256, 2}, {512, 1}};
  for (const auto& [channels, size] : layers) {
    for (const std::int64_t workers : {1, 4, 64}) {
      const auto name =
          fmt::format("batch_norm/256x{}x{}x{}/workers:{}", channels, size, size, workers);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [channels = channels, size = size, workers](benchmark::State& state) {
            ib::time_layer(state, channels, size, workers);
          })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
