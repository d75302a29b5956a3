// What training costs, and what tracking importance adds to it.
//
//   build/release/bin/train_bench [MODEL [BATCH [ROUNDS [FILE.csv]]]]
//
// MODEL is one of images (resnet18) or of language (gpt-tiny). Rounds take turns between: a bare
// LibTorch loop of the same model, batches and optimiser (forward, cross entropy, backward,
// torch::optim::SGD); a step of the engine without signals; with the
// signals of one notion; and, at the same global batch, with 4 and 64 logical workers. Ratios are
// medians over the rounds of neighbouring measurements, since machines are noisy. Before anything
// is timed, one step of the engine must change the weights as the bare loop does. FILE gets the
// seconds of every round.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "bench/training_task.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/models/layers/worker_statistics.h"

namespace impart::bench {
namespace {

/// An engine that repeats the steps of one epoch.
class EngineLoop {
 public:
  EngineLoop(const Setting& setting, std::uint32_t workers, bool track, const Task& task)
      : training_(make_config(setting, workers), task, track),
        plan_(order_of(task.examples(), workers), training_.config().workers.batch,
              placement::Uneven::kWeight) {}

  double seconds_per_step() {
    train::Engine& engine = training_.engine();
    if (step_ == plan_.steps() || step_ == 0) {
      engine.begin_epoch(plan_, 0, 0);
      step_ = 0;
    }
    engine.clock().read();
    const double seconds =
        seconds_of([&] { engine.run_step(step_++, training_.config().optimizer.lr); });
    phases_ += engine.clock().read().seconds;
    return seconds;
  }
  models::Classifier& model() { return training_.engine().model(); }
  /// Of all steps so far, as a run would record it.
  double tracking_share() const { return phases_.tracking / phases_.total(); }

 private:
  Training training_;
  store::PhaseSeconds phases_;
  placement::StepPlan plan_;
  std::uint32_t step_ = 0;
};

/// What one would write with LibTorch alone. The data is made into batches by the same function.
class BareLoop {
 public:
  BareLoop(const Setting& setting, const Task& task)
      : batch_(setting.batch),
        feed_(task.make_feed()),
        model_(task.make_model()),
        optimizer_(model_->parameters(),
                   torch::optim::SGDOptions(0.01).momentum(0.9).nesterov(true).weight_decay(5e-4)) {
    const placement::Parts order = order_of(task.examples(), 1);
    const auto ids = order.of(WorkerId{0});
    plan_.ids.assign(ids.begin(), ids.end());
    plan_.workers.assign(ids.size(), WorkerId{0});
    for (std::int64_t end = batch_; end <= static_cast<std::int64_t>(ids.size()); end += batch_) {
      plan_.ends.push_back(end);
    }
    model_->train();
  }

  double seconds_per_step() {
    if (step_ == plan_.ends.size()) step_ = 0;
    if (step_ == 0) feed_->begin(plan_);
    ++step_;
    return seconds_of([&] {
      store::PhaseSeconds waiting;
      const feed::Batch batch = feed_->next(waiting);
      optimizer_.zero_grad();
      const auto logits = model_->forward(batch.inputs).logits;
      torch::cross_entropy_loss(logits.flatten(0, -2), batch.targets.flatten()).backward();
      optimizer_.step();
    });
  }
  models::Classifier& model() { return *model_; }

 private:
  std::int64_t batch_;
  std::unique_ptr<feed::Feed> feed_;
  std::shared_ptr<models::Classifier> model_;
  torch::optim::SGD optimizer_;
  feed::FeedPlan plan_;
  std::size_t step_ = 0;
};

double median_ratio(const std::vector<double>& top, const std::vector<double>& bottom) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < top.size(); ++i) ratios.push_back(top[i] / bottom[i]);
  return median(ratios);
}

void check_equal_step(const Setting& setting, const Task& task) {
  BareLoop bare(setting, task);
  EngineLoop engine(setting, 1, true, task);
  bare.seconds_per_step();
  engine.seconds_per_step();
  const auto left = bare.model().parameters(), right = engine.model().parameters();
  for (std::size_t i = 0; i < left.size(); ++i) {
    require(torch::allclose(left[i], right[i], 1e-3, 1e-5),
            fmt::format("parameter {} after a step", i));
  }
}

/// Of every round; the columns are equally long.
struct Column {
  std::string_view name;
  const std::vector<double>& seconds;
};

void write_rounds(const std::string& path, std::span<const Column> columns) {
  std::string text = "round";
  for (const Column& column : columns) text += fmt::format(",{}", column.name);
  for (std::size_t round = 0; round < columns.front().seconds.size(); ++round) {
    text += fmt::format("\n{}", round);
    for (const Column& column : columns) text += fmt::format(",{:.6f}", column.seconds[round]);
  }
  write_file(path, text + "\n");
}

void run(const Setting& setting, const std::string& rounds_file) {
  if (!rounds_file.empty()) write_file(rounds_file, "");  // whether it can be is known before
  require(setting.batch >= 64 && setting.batch % 64 == 0, "BATCH is a multiple of 64");
  torch::set_num_threads(2);
  const Task task(setting);
  check_equal_step(setting, task);

  BareLoop bare(setting, task);
  EngineLoop silent(setting, 1, false, task), tracking(setting, 1, true, task);
  EngineLoop four(setting, 4, true, task), sixty_four(setting, 64, true, task);
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
  fmt::print("tracking by the phases      {:8.2f} %\n", 100 * tracking.tracking_share());
  fmt::print("4 workers                   {:8.1f} ms, {:.3f} of 1 worker\n",
             1e3 * median(four_times), median_ratio(four_times, tracking_times));
  fmt::print("64 workers                  {:8.1f} ms, {:.3f} of 1 worker\n",
             1e3 * median(many_times), median_ratio(many_times, tracking_times));
  if (rounds_file.empty()) return;
  const Column columns[] = {{"bare", bare_times},
                            {"without_signals", silent_times},
                            {"tracking", tracking_times},
                            {"4_workers", four_times},
                            {"64_workers", many_times}};
  write_rounds(rounds_file, columns);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) try {
  impart::bench::run(impart::bench::read_setting({argv, static_cast<std::size_t>(argc)}),
                     argc > 4 ? argv[4] : "");
} catch (const impart::Error& error) {
  fmt::print(stderr, "train_bench: {}\n", error.what());
  return 1;
}
