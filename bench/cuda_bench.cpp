// What the kernels and the recorded steps cost on one GPU.
//
//   build/gpu/bin/cuda_bench kernels           each kernel against the time its bytes need
//   build/gpu/bin/cuda_bench steps [MODEL]     a training step by precision, workers and tracking
//   build/gpu/bin/cuda_bench startup TRIALS    the first epoch, with so many algorithms of cuDNN
//   tried
//   build/gpu/bin/cuda_bench profile FILE [MODEL [BATCH]]
//                                              kernels of a bf16 step, as a trace for
//                                              chrome://tracing
//
// The bytes of a kernel are what it must read and write at least once; the bandwidth they are held
// against is that of a large copy, measured in the same run. Results are checked before anything is
// timed: batch norm against torch's, sliced.

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "impart/cuda/images.h"
#include "impart/data/datasets.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/models/layers/worker_batch_norm.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/tensors/torch_compat.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/device/step_graph.h"
#include "impart/train/engine.h"

namespace impart::bench {
namespace {

constexpr double kMicro = 1e6, kMilli = 1e3, kTera = 1e12;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of one call of `work`, from replays of a graph that has `repeats` of them.
double seconds_recorded(const std::function<void(int)>& work, int repeats) {
  for (int i = 0; i < 3; ++i) work(i);
  train::StepGraph graph;
  graph.record([&] {
    for (int i = 0; i < repeats; ++i) work(i);
  });
  graph.replay();
  torch::cuda::synchronize();
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const double start = seconds_now();
    graph.replay();
    torch::cuda::synchronize();
    times.push_back((seconds_now() - start) / repeats);
  }
  return median(times);
}

torch::TensorOptions on_gpu(torch::ScalarType type = torch::kFloat) {
  return torch::TensorOptions().device(torch::kCUDA).dtype(type);
}

/// Bytes per second, read and written, of a kernel that does nothing else, on 1 GB.
double copy_bandwidth() {
  const auto from = torch::randn({1 << 28}, on_gpu());
  auto to = torch::empty_like(from);
  for (int i = 0; i < 100; ++i) at::neg_out(to, from);  // clocks rise under load
  return 2.0 * static_cast<double>(from.nbytes()) /
         seconds_recorded([&](int) { at::neg_out(to, from); }, 5);
}

struct NormCase {
  std::int64_t batch, channels, size, workers;
};

std::shared_ptr<models::WorkerLayout> even_layout(std::int64_t workers, std::int64_t batch) {
  auto layout = std::make_shared<models::WorkerLayout>(models::WorkerLayout{.starts = {}});
  for (std::int64_t w = 0; w <= workers; ++w) layout->starts.push_back(w * batch / workers);
  return layout;
}

/// A batch norm with relu and residual, as at the end of a block.
class NormLoop {
 public:
  explicit NormLoop(const NormCase& c)
      : norm_(models::WorkerBatchNormSpec{.channels = c.channels}) {
    norm_->to(torch::kCUDA);
    norm_->set_layout(even_layout(c.workers, c.batch));
    const auto make = [&] {
      return torch::randn({c.batch, c.channels, c.size, c.size}, on_gpu())
          .to(torch::kBFloat16)
          .contiguous(torch::MemoryFormat::ChannelsLast);
    };
    for (int i = 0; i < 4; ++i) inputs_.push_back(make().requires_grad_(true));
    residual_ = make().requires_grad_(true);
    gradient_ = make();
  }
  torch::Tensor forward(int i) {
    return norm_->forward(inputs_[static_cast<std::size_t>(i) % inputs_.size()],
                          {.relu = true, .residual = residual_});
  }
  void both(int i) {
    auto& x = inputs_[static_cast<std::size_t>(i) % inputs_.size()];
    torch::autograd::grad({forward(i)}, {x, norm_->weight, norm_->bias, residual_}, {gradient_});
  }
  double bytes() const { return static_cast<double>(gradient_.nbytes()); }

 private:
  models::WorkerBatchNorm2d norm_;
  std::vector<torch::Tensor> inputs_;
  torch::Tensor residual_, gradient_;
};

void time_norm(const NormCase& c, double bandwidth) {
  NormLoop loop(c);
  const torch::Tensor sliced = [&] {
    const auto x = torch::randn({c.batch, c.channels, c.size, c.size}, on_gpu());
    models::WorkerBatchNorm2d norm(models::WorkerBatchNormSpec{.channels = c.channels});
    norm->to(torch::kCUDA);
    const auto layout = even_layout(c.workers, c.batch);
    norm->set_layout(layout);
    const auto expected =
        models::normalise_by_worker(x, norm->weight, norm->bias, *layout, 1e-5).output.detach();
    return norm->forward(x).detach() - expected;
  }();
  require(sliced.abs().max().item<double>() < 1e-3, "batch norm is the sliced one");
  const double forward = seconds_recorded([&](int i) { loop.forward(i); }, 40);
  const double both = seconds_recorded([&](int i) { loop.both(i); }, 40);
  // Forward reads x and the residual and writes y; backward reads x, y and the gradient and writes
  // two.
  const double floor_forward = 3 * loop.bytes() / bandwidth;
  const double floor_back = 5 * loop.bytes() / bandwidth;
  fmt::print(
      "batch norm {:5}x{:3}x{:2}x{:2}, {:4} workers  forward {:7.1f} us ({:4.1f} x floor)  "
      "backward {:7.1f} us ({:4.1f} x floor)\n",
      c.batch, c.channels, c.size, c.size, c.workers, kMicro * forward, forward / floor_forward,
      kMicro * (both - forward), (both - forward) / floor_back);
}

void time_gather(double bandwidth) {
  const std::int64_t rows = 1024, examples = 50000;
  const auto pixels = torch::randint(0, 256, {examples, 3, 32, 32}, on_gpu(torch::kByte));
  const auto ids = torch::randint(0, examples, {rows}, on_gpu(torch::kLong));
  const auto choices = torch::randint(0, 1 << 17, {examples}, on_gpu(torch::kInt));
  const auto mean = torch::rand({3}, on_gpu()), deviation = torch::rand({3}, on_gpu()) + 0.1;
  const auto batch = torch::empty({rows, 32, 32, 3}, on_gpu(torch::kBFloat16));
  const double seconds = seconds_recorded(
      [&](int) {
        cuda::gather_images({.pixels = pixels.data_ptr<std::uint8_t>(),
                             .channels = 3,
                             .height = 32,
                             .width = 32,
                             .mean = mean.data_ptr<float>(),
                             .deviation = deviation.data_ptr<float>(),
                             .ids = ids.data_ptr<std::int64_t>(),
                             .choices = choices.data_ptr<std::int32_t>(),
                             .rows = rows,
                             .batch = batch.data_ptr(),
                             .element = cuda::Element::kBfloat16},
                            tensors::current_stream());
      },
      40);
  const double bytes = static_cast<double>(batch.nbytes()) * 1.5;
  fmt::print("gather 1024 images                                {:7.1f} us ({:4.1f} x floor)\n",
             kMicro * seconds, seconds * bandwidth / bytes);
}

void time_kernels() {
  train::leave_default_stream();
  const double bandwidth = copy_bandwidth();
  fmt::print("copy {:.2f} TB/s\n", bandwidth / kTera);
  time_gather(bandwidth);
  for (const NormCase& c :
       {NormCase{1024, 64, 16, 4}, NormCase{1024, 64, 8, 4}, NormCase{1024, 128, 4, 4},
        NormCase{1024, 256, 2, 4}, NormCase{1024, 512, 1, 4}}) {
    time_norm(c, bandwidth);
  }
  for (const std::int64_t workers : {4, 128, 2048}) {
    time_norm({8192, 64, 8, workers}, bandwidth);
    time_norm({8192, 512, 1, workers}, bandwidth);
  }
}

struct StepCase {
  std::string model = "resnet18";
  config::RunConfig::Precision precision = config::RunConfig::Precision::kBf16;
  std::uint32_t workers = 4, batch = 256;
  bool track = true;
  bool recorded = true;
  int trials = 0;  ///< algorithms of cuDNN that are tried; 0: its first guess
};

/// An engine that trains on drawn images.
class StepLoop {
 public:
  StepLoop(const StepCase& c, const feed::DeviceImages& images)
      : communicator_(comm::make_single_communicator()),
        feed_(feed::make_device_feed(
            images,
            [n = images.labels.size(0)](std::uint32_t epoch) {
              return data::crop_and_flip(
                  {.seed = 1, .epoch = epoch, .examples = static_cast<std::uint64_t>(n)});
            })),
        engine_({.config = config_of(c),
                 .model = make_model(c.model),
                 .feed = feed_.get(),
                 .collect_signals = c.track},
                *communicator_),
        plan_(order(images, c.workers), c.batch, placement::Uneven::kDrop) {
    const bool tf32 = c.precision != config::RunConfig::Precision::kFp32;
    at::globalContext().setAllowTF32CuDNN(tf32);
    at::globalContext().setAllowTF32CuBLAS(tf32);
    at::globalContext().setBenchmarkCuDNN(c.trials > 0);
    tensors::set_cudnn_trials(c.trials);
  }

  /// Seconds per step of an epoch, its beginning and end included.
  double run_epoch() {
    const double start = seconds_now();
    run_steps();
    torch::cuda::synchronize();
    const double seconds = seconds_now() - start;
    phases_ += engine_.clock().read().seconds;
    return seconds / plan_.steps();
  }

  /// Of all epochs so far, as a run would record it.
  double tracking_share() const { return phases_.tracking / phases_.total(); }

 private:
  void run_steps() {
    const train::PhaseTimer steps(engine_.clock(), &store::PhaseSeconds::step);
    engine_.begin_epoch(plan_, epoch_++, 0);
    for (std::uint32_t step = 0; step < plan_.steps(); ++step) engine_.run_step(step, 0.01);
    const train::PhaseTimer tracking(engine_.clock(), &store::PhaseSeconds::tracking);
    engine_.collected_signals();
  }

  static config::RunConfig config_of(const StepCase& c) {
    config::RunConfig config;
    config.model.name = c.model;
    config.precision = c.precision;
    config.workers.count = c.workers;
    config.workers.batch = c.batch;
    if (!c.recorded) config.workers.micro_batch = c.workers * c.batch - 1;
    return config;
  }
  static std::shared_ptr<models::Classifier> make_model(const std::string& name) {
    auto model = find_entry(models::kModels, "model", name).function({.classes = 10});
    models::initialise_parameters(*model, 1);
    model->to(torch::kCUDA);
    return model;
  }
  static placement::Parts order(const feed::DeviceImages& images, std::uint32_t workers) {
    const std::vector<float> nothing(static_cast<std::size_t>(images.labels.size(0)));
    return placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = workers}), {});
  }

  std::unique_ptr<comm::Communicator> communicator_;
  std::unique_ptr<feed::Feed> feed_;
  train::Engine engine_;
  placement::StepPlan plan_;
  std::uint32_t epoch_ = 0;
  store::PhaseSeconds phases_;
};

/// Images of noise: what they show does not matter for speed.
feed::DeviceImages noise(std::int64_t examples) {
  return {.pixels = torch::randint(0, 256, {examples, 3, 32, 32}, on_gpu(torch::kByte)),
          .labels = torch::randint(0, 10, {examples}, on_gpu(torch::kLong)),
          .mean = torch::full({3}, 0.5, on_gpu()),
          .std = torch::full({3}, 0.25, on_gpu())};
}

double time_steps(const std::string& name, const StepCase& c, const feed::DeviceImages& images) {
  StepLoop loop(c, images);
  for (int i = 0; i < 3; ++i) loop.run_epoch();
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) times.push_back(loop.run_epoch());
  const double seconds = median(times);
  fmt::print("{:44} {:8.3f} ms a step, {:9.0f} images/s, {:.2f} % of it tracking\n", name,
             kMilli * seconds, c.workers * c.batch / seconds, 100 * loop.tracking_share());
  std::fflush(stdout);
  return seconds;
}

void time_all_steps(const std::string& model) {
  using Precision = config::RunConfig::Precision;
  const feed::DeviceImages images = noise(50176);
  fmt::print("{}, 4 workers x 256\n", model);
  time_steps("fp32", {.model = model, .precision = Precision::kFp32, .trials = 10}, images);
  time_steps("tf32", {.model = model, .precision = Precision::kTf32}, images);
  const double recorded = time_steps("bf16", {.model = model}, images);
  const double silent = time_steps("bf16, no tracking", {.model = model, .track = false}, images);
  const double again = time_steps("bf16 again", {.model = model}, images);
  const double plain =
      time_steps("bf16, not recorded", {.model = model, .recorded = false}, images);
  fmt::print(
      "tracking {:+.2f} % with against without (the same twice: {:+.2f} %); recorded {:.2f} x as "
      "fast\n",
      100 * (recorded / silent - 1), 100 * (again / recorded - 1), plain / recorded);
  const feed::DeviceImages more = noise(8192 * 8);
  fmt::print("{}, bf16, 8192 images a step\n", model);
  const double few = time_steps("4 workers x 2048", {.model = model, .batch = 2048}, more);
  for (const std::uint32_t workers : {128u, 2048u}) {
    const double many =
        time_steps(fmt::format("{} workers x {}", workers, 8192 / workers),
                   {.model = model, .workers = workers, .batch = 8192 / workers}, more);
    fmt::print("  {:.3f} of 4 workers\n", many / few);
  }
}

void time_startup(int trials) {
  const double start = seconds_now();
  const feed::DeviceImages images = noise(50176);
  torch::cuda::synchronize();
  const double ready = seconds_now();
  StepLoop loop({.trials = trials}, images);
  const double first = loop.run_epoch() * 49;
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) times.push_back(loop.run_epoch());
  fmt::print("{:2} trials: start {:.2f} s, first epoch {:.2f} s, then {:.3f} ms a step\n", trials,
             ready - start, first, kMilli * median(times));
}

void profile(const std::string& path, const StepCase& c) {
  using namespace torch::autograd::profiler;
  const feed::DeviceImages images = noise(10240);
  StepLoop loop(c, images);
  for (int i = 0; i < 3; ++i) loop.run_epoch();
  const std::set<torch::profiler::impl::ActivityType> activities = {
      torch::profiler::impl::ActivityType::CPU, torch::profiler::impl::ActivityType::CUDA};
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  prepareProfiler(config, activities);
  enableProfiler(config, activities);
  loop.run_epoch();
  disableProfiler()->save(path);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string argument = argc > 2 ? argv[2] : "";
  if (!torch::cuda::is_available()) {
    fmt::print("no CUDA device can be used\n");
    return 1;
  }
  if (what == "kernels") impart::bench::time_kernels();
  if (what == "steps") impart::bench::time_all_steps(argument.empty() ? "resnet18" : argument);
  if (what == "startup") impart::bench::time_startup(std::stoi(argument));
  if (what == "profile") {
    impart::bench::StepCase step;
    if (argc > 3) step.model = argv[3];
    if (argc > 4) step.batch = static_cast<std::uint32_t>(std::stoul(argv[4]));
    impart::bench::profile(argument, step);
  }
}
