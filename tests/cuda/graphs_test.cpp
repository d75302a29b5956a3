#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/train/device/step_graph.h"
#include "tests/cuda/gpu_test.h"

namespace impart {
namespace {

class DeviceGraphs : public testing::GpuTest {};

TEST_F(DeviceGraphs, OfSeveralThreadsComeAndGo) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      train::leave_default_stream();
      const auto x = torch::full({64}, t, torch::kCUDA);
      auto sum = torch::zeros({64}, torch::kCUDA);
      for (int i = 0; i < 200; ++i) {
        train::StepGraph graph;
        graph.record([&] { sum.add_(x); });
        graph.replay();
      }
      if (!torch::equal(sum.cpu(), torch::full({64}, 200 * t))) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace impart
