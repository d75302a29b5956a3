// What training costs, and what tracking importance adds to it.
//
//   build/release/bin/train_bench [MODEL [BATCH [ROUNDS]]]
//
// Rounds take turns between: a bare LibTorch loop of the same model, batch and optimiser (forward,
// cross entropy, backward, torch::optim::SGD); a step of the engine without signals; with the
// signals of one notion; and, at the same global batch, with 4 and 64 logical workers. Ratios are
// medians over the rounds of neighbouring measurements, since machines are noisy. Before anything
// is timed, one step of the engine must change the weights as the bare loop does.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "impart/data/datasets.h"
#include "impart/models/init.h"
#include "impart/models/models.h"
#include "impart/models/worker_statistics.h"
#include "impart/partition/epoch_order.h"
#include "impart/partition/heuristics.h"
#include "impart/train/engine.h"

namespace impart::bench {
namespace {

struct Setting {
  std::string model = "resnet18";
  std::uint32_t batch = 256;
  int rounds = 15;
};

std::shared_ptr<Classifier> make_model(const std::string& name) {
  auto model = find_entry(kModels, "model", name).function({.classes = 10});
  initialise_parameters(*model, 1);
  return model;
}

RunConfig make_config(const Setting& setting, std::uint32_t workers) {
  RunConfig config;
  config.model.name = setting.model;
  config.workers.count = workers;
  config.workers.batch = setting.batch / workers;
  config.optimizer.lr = 0.01;
  config.importance.notion = "loss-variance";
  return config;
}

/// An engine that repeats the steps of one epoch.
class EngineLoop {
 public:
  EngineLoop(const Setting& setting, std::uint32_t workers, bool track, const DeviceImages& images)
      : config_(make_config(setting, workers)),
        communicator_(make_single_communicator()),
        feed_(make_device_feed(images, {})),
        engine_({.config = config_,
                 .model = make_model(setting.model),
                 .feed = feed_.get(),
                 .collect_signals = track},
                *communicator_),
        plan_(order(images, workers), config_.workers.batch, WorkersConfig::Uneven::kWeight) {}

  double seconds_per_step() {
    if (step_ == plan_.steps() || step_ == 0) {
      engine_.begin_epoch(plan_, 0, 0);
      step_ = 0;
    }
    return seconds_of([&] { engine_.run_step(step_++, config_.optimizer.lr); });
  }
  Classifier& model() { return engine_.model(); }

 private:
  static Parts order(const DeviceImages& images, std::uint32_t workers) {
    const std::vector<float> nothing(static_cast<std::size_t>(images.labels.size(0)));
    return order_epoch(shuffle_evenly(nothing, {.workers = workers}), {});
  }

  RunConfig config_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Feed> feed_;
  Engine engine_;
  StepPlan plan_;
  std::uint32_t step_ = 0;
};

/// What one would write with LibTorch alone. The data is made into batches by the same function.
class BareLoop {
 public:
  BareLoop(const Setting& setting, const DeviceImages& images)
      : batch_(setting.batch),
        images_(images),
        model_(make_model(setting.model)),
        optimizer_(model_->parameters(),
                   torch::optim::SGDOptions(0.01).momentum(0.9).nesterov(true).weight_decay(5e-4)) {
    const std::vector<float> nothing(static_cast<std::size_t>(images.labels.size(0)));
    const Parts order = order_epoch(shuffle_evenly(nothing, {.workers = 1}), {});
    std::vector<std::int64_t> ids;
    for (const ExampleId id : order.of(WorkerId{0}))
      ids.push_back(static_cast<std::int64_t>(index(id)));
    ids_ = torch::tensor(ids, torch::kInt64);
    model_->train();
  }

  double seconds_per_step() {
    return seconds_of([&] {
      if (row_ + batch_ > ids_.size(0)) row_ = 0;
      const auto ids = ids_.narrow(0, row_, batch_);
      row_ += batch_;
      optimizer_.zero_grad();
      const auto output = model_->forward(make_batch(images_, ids));
      torch::cross_entropy_loss(output.logits, images_.labels.index_select(0, ids)).backward();
      optimizer_.step();
    });
  }
  Classifier& model() { return *model_; }

 private:
  std::int64_t batch_;
  std::int64_t row_ = 0;
  DeviceImages images_;
  std::shared_ptr<Classifier> model_;
  torch::optim::SGD optimizer_;
  torch::Tensor ids_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_ratio(const std::vector<double>& top, const std::vector<double>& bottom) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < top.size(); ++i) ratios.push_back(top[i] / bottom[i]);
  return median(ratios);
}

void check_equal_step(const Setting& setting, const DeviceImages& images) {
  BareLoop bare(setting, images);
  EngineLoop engine(setting, 1, true, images);
  bare.seconds_per_step();
  engine.seconds_per_step();
  const auto left = bare.model().parameters(), right = engine.model().parameters();
  for (std::size_t i = 0; i < left.size(); ++i) {
    require(torch::allclose(left[i], right[i], 1e-3, 1e-5),
            fmt::format("parameter {} after a step", i));
  }
}

void run(const Setting& setting) {
  torch::set_num_threads(2);
  const ImageData data =
      load_data({.train_examples = std::max(2048u, 8 * setting.batch), .test_examples = 1});
  const DeviceImages images = put_on_device(data.train, torch::kCPU);
  check_equal_step(setting, images);

  BareLoop bare(setting, images);
  EngineLoop silent(setting, 1, false, images), tracking(setting, 1, true, images);
  EngineLoop four(setting, 4, true, images), sixty_four(setting, 64, true, images);
  std::vector<double> bare_times, silent_times, tracking_times, four_times, many_times;
  for (int round = -2; round < setting.rounds; ++round) {
    // The order changes from round to round, so that nobody always comes first.
    const double b = bare.seconds_per_step();
    const bool swap = round % 2 == 0;
    const double first = swap ? tracking.seconds_per_step() : silent.seconds_per_step();
    const double second = swap ? silent.seconds_per_step() : tracking.seconds_per_step();
    const double f = four.seconds_per_step();
    const double m = sixty_four.seconds_per_step();
    if (round < 0) continue;  // warming up
    bare_times.push_back(b);
    silent_times.push_back(swap ? second : first);
    tracking_times.push_back(swap ? first : second);
    four_times.push_back(f);
    many_times.push_back(m);
  }
  fmt::print("{} batch {} x {} rounds, 2 threads\n", setting.model, setting.batch, setting.rounds);
  fmt::print("bare LibTorch loop          {:8.1f} ms per step\n", 1e3 * median(bare_times));
  fmt::print("engine without signals      {:8.1f} ms, {:.3f} of bare\n", 1e3 * median(silent_times),
             median_ratio(silent_times, bare_times));
  fmt::print(
      "engine with loss-variance   {:8.1f} ms, {:.3f} of bare, {:.4f} of the engine without\n",
      1e3 * median(tracking_times), median_ratio(tracking_times, bare_times),
      median_ratio(tracking_times, silent_times));
  fmt::print("4 workers                   {:8.1f} ms, {:.3f} of 1 worker\n",
             1e3 * median(four_times), median_ratio(four_times, tracking_times));
  fmt::print("64 workers                  {:8.1f} ms, {:.3f} of 1 worker\n",
             1e3 * median(many_times), median_ratio(many_times, tracking_times));
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  impart::bench::Setting setting;
  if (argc > 1) setting.model = argv[1];
  if (argc > 2) setting.batch = static_cast<std::uint32_t>(std::atoi(argv[2]));
  if (argc > 3) setting.rounds = std::atoi(argv[3]);
  impart::bench::run(setting);
}
