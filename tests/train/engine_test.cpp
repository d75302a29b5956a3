#include "impart/train/engine.h"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/data/augment.h"
#include "impart/models/init.h"
#include "impart/models/models.h"
#include "impart/models/state.h"
#include "impart/models/worker_statistics.h"
#include "tests/models/tensors.h"
#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::random_tensor;
using testing::relative_distance;
using testing::TemporaryFolder;

constexpr std::int64_t kExamples = 40, kClasses = 5;
constexpr std::uint32_t kWorkers = 4;

DeviceImages make_images() {
  return {.pixels = random_tensor({kExamples, 3, 8, 8}, 1, 60, 128).clamp(0, 255).to(torch::kByte),
          .labels = torch::arange(kExamples).mul(7).remainder(kClasses),
          .mean = torch::tensor({0.5f, 0.4f, 0.6f}),
          .std = torch::tensor({0.2f, 0.3f, 0.25f})};
}

torch::Tensor make_augmentation() {
  return put_on_device(crop_and_flip({.seed = 2, .examples = kExamples, .padding = 2}),
                       torch::kCPU);
}

std::shared_ptr<Classifier> make_empty_model(const std::string& name) {
  return find_entry(kModels, "model", name)
      .function({.classes = kClasses, .image_size = 8, .stem = Stem::kCifar});
}

std::shared_ptr<Classifier> make_model(const std::string& name, std::uint64_t seed = 3) {
  auto model = make_empty_model(name);
  initialise_parameters(*model, seed);
  return model;
}

/// Orders of these lengths with ids that are spread over the data set.
Parts make_order(const std::vector<std::uint64_t>& sizes) {
  Parts order(sizes);
  std::uint64_t next = 0;
  for (std::uint32_t worker = 0; worker < order.workers(); ++worker) {
    for (ExampleId& id : order.of(WorkerId{worker})) id = ExampleId{next++ * 13 % kExamples};
  }
  return order;
}

StepPlan make_plan(const std::vector<std::uint64_t>& sizes, std::uint32_t batch) {
  return {make_order(sizes), batch, WorkersConfig::Uneven::kWeight};
}

/// Four workers, plain gradient descent.
RunConfig plain() {
  RunConfig config;
  config.workers.count = kWorkers;
  config.optimizer = {.lr = 1, .momentum = 0, .nesterov = false, .weight_decay = 0};
  return config;
}

RunConfig with_momentum() {
  RunConfig config = plain();
  config.optimizer = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  return config;
}

RunConfig with_sync(RunConfig config, SyncRule sync) {
  config.workers.sync = sync;
  return config;
}

constexpr SyncRule kEveryTwoSteps{.kind = SyncRule::Kind::kEverySteps, .steps = 2};
constexpr SyncRule kAtTheEndOfTheEpoch{.kind = SyncRule::Kind::kEpoch};

torch::Tensor parameters_of(const Classifier& model) {
  std::vector<torch::Tensor> parameters;
  for (const torch::Tensor& parameter : model.parameters()) {
    parameters.push_back(parameter.detach().flatten().to(torch::kDouble));
  }
  return torch::cat(parameters);
}

void set_parameters(Classifier& model, const torch::Tensor& values) {
  const torch::NoGradGuard no_grad;
  std::int64_t start = 0;
  for (torch::Tensor& parameter : model.parameters()) {
    parameter.copy_(values.narrow(0, start, parameter.numel()).view_as(parameter));
    start += parameter.numel();
  }
}

/// An engine and what it needs to live.
struct Training {
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  Engine engine;

  explicit Training(const RunConfig& config, const std::string& model = "small-cnn",
                    std::uint64_t seed = 3)
      : engine({.config = config, .model = make_model(model, seed), .images = make_images()},
               *communicator) {}

  /// Trains steps first..last-1 of the plan.
  void train(const StepPlan& plan, std::uint32_t first, std::uint32_t last, double rate) {
    engine.begin_epoch(plan, make_augmentation(), first);
    for (std::uint32_t step = first; step < last; ++step) engine.run_step(step, rate);
  }
  torch::Tensor parameters() { return parameters_of(engine.model()); }
};

torch::Tensor ids_of(std::span<const ExampleId> ids) {
  std::vector<std::int64_t> numbers;
  for (const ExampleId id : ids) numbers.push_back(static_cast<std::int64_t>(index(id)));
  return torch::tensor(numbers, torch::kInt64);
}

/// A worker on its own, with a whole model: in double, where torch's own batch norm runs, but for
/// ResNets, in which rounding turns ReLUs on and off.
struct Alone {
  std::shared_ptr<Classifier> model;
  torch::ScalarType type;

  Alone(const std::string& name, const torch::Tensor& parameters)
      : model(make_empty_model(name)), type(name == "resnet18" ? torch::kFloat : torch::kDouble) {
    model->to(type);
    set_parameters(*model, parameters);
  }

  /// The losses of a batch, each on its own.
  torch::Tensor losses(std::span<const ExampleId> batch) {
    const auto ids = ids_of(batch);
    const auto images = make_images();
    const auto pixels = make_batch(images, ids, make_augmentation()).to(type);
    return torch::nn::functional::cross_entropy(
        model->forward(pixels).logits, images.labels.index_select(0, ids),
        torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  }
  /// The gradient of the mean loss of a batch.
  torch::Tensor gradient(std::span<const ExampleId> batch) {
    model->zero_grad();
    losses(batch).mean().backward();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : model->parameters()) {
      gradients.push_back(parameter.grad().flatten().to(torch::kDouble));
    }
    return torch::cat(gradients);
  }
};

/// One for each worker, all with the parameters that training starts from.
std::vector<Alone> make_replicas(const std::string& name, const torch::Tensor& parameters) {
  std::vector<Alone> replicas;
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    replicas.emplace_back(name, parameters);
  }
  return replicas;
}

/// The mean of the replicas' gradients, weighted by their examples.
torch::Tensor averaged_gradient(std::vector<Alone>& replicas, const StepPlan& plan,
                                std::uint32_t step) {
  torch::Tensor sum = torch::zeros_like(parameters_of(*replicas[0].model));
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    const auto batch = plan.batch_of(WorkerId{worker}, step);
    if (!batch.empty()) sum += replicas[worker].gradient(batch) * static_cast<double>(batch.size());
  }
  return sum / static_cast<double>(plan.examples_in(step));
}

void expect_statistics_of(Training& run, std::vector<Alone>& replicas) {
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    const auto together = copy_worker_statistics(run.engine.model(), worker);
    const auto alone = copy_worker_statistics(*replicas[worker].model, 0);
    EXPECT_LT(relative_distance(together, alone), 1e-5) << "worker " << worker;
  }
}

void expect_step_of_replicas(const std::string& model, const std::vector<std::uint64_t>& sizes) {
  const StepPlan plan = make_plan(sizes, 8);
  ASSERT_EQ(plan.steps(), 1u);
  Training run(plain(), model);
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0);
  auto replicas = make_replicas(model, before);
  const auto gradient = averaged_gradient(replicas, plan, 0);
  EXPECT_LT(relative_distance(run.parameters() - before, -gradient), 1e-5) << model;
  expect_statistics_of(run, replicas);
}

TEST(Engine, StepOfStackedWorkersIsThatOfSeparateReplicas) {
  expect_step_of_replicas("small-cnn", {6, 6, 6, 6});
  expect_step_of_replicas("resnet18", {6, 6, 6, 6});
}

TEST(Engine, StepOfUnevenWorkersIsThatOfSeparateReplicas) {
  expect_step_of_replicas("small-cnn", {8, 3, 1, 6});
  expect_step_of_replicas("small-cnn", {0, 5, 0, 2});
  expect_step_of_replicas("resnet18", {8, 4, 6, 5});
}

TEST(Engine, TrainsWorkersWithoutRowsInTheLastStep) {
  const StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  ASSERT_EQ(plan.steps(), 3u);
  Training run(plain());
  const auto before = run.parameters();
  run.train(plan, 0, 3, 0.1);
  auto replicas = make_replicas("small-cnn", before);
  auto values = before;
  for (std::uint32_t step = 0; step < 3; ++step) {
    values = values - 0.1 * averaged_gradient(replicas, plan, step);
    for (Alone& replica : replicas) set_parameters(*replica.model, values);
  }
  EXPECT_LT(relative_distance(run.parameters() - before, values - before), 1e-5);
  expect_statistics_of(run, replicas);
}

TEST(Engine, GivesTheSameInMicroBatches) {
  const StepPlan plan = make_plan({9, 6, 8, 3}, 6);
  Training whole(plain());
  const auto before = whole.parameters();
  whole.train(plan, 0, 2, 0.1);
  for (const std::uint32_t micro_batch : {1u, 12u, 14u}) {
    RunConfig config = plain();
    config.workers.micro_batch = micro_batch;
    Training run(config);
    run.train(plan, 0, 2, 0.1);
    EXPECT_LT(relative_distance(run.parameters() - before, whole.parameters() - before), 1e-5);
    EXPECT_LT(relative_distance(run.engine.collected_signals(), whole.engine.collected_signals()),
              1e-5);
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      EXPECT_LT(relative_distance(copy_worker_statistics(run.engine.model(), worker),
                                  copy_worker_statistics(whole.engine.model(), worker)),
                1e-5);
    }
  }
}

TEST(Engine, NormalisesTheWholeStepIfBatchNormIsShared) {
  RunConfig config = plain();
  config.workers.batch_norm = WorkersConfig::BatchNorm::kShared;
  const StepPlan plan = make_plan({6, 3, 5, 4}, 6);
  Training run(config);
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0);
  Alone one("small-cnn", before);
  const auto ids = visits_of(plan, {.first = 0, .count = kWorkers}, 0, 1).ids;
  EXPECT_LT(relative_distance(run.parameters() - before, -one.gradient(ids)), 1e-5);
}

TEST(Engine, ReducesExactlyToTheSameWeights) {
  RunConfig config = with_momentum();
  const StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  const int threads = torch::get_num_threads();
  Training fast(config);
  const auto before = fast.parameters();
  fast.train(plan, 0, 3, 0.1);
  config.workers.reduce = WorkersConfig::Reduce::kExact;
  Training first(config), second(config);
  first.train(plan, 0, 3, 0.1);
  second.train(plan, 0, 3, 0.1);
  torch::set_num_threads(threads);
  EXPECT_LT(relative_distance(first.parameters() - before, fast.parameters() - before), 1e-5);
  EXPECT_TRUE(torch::equal(first.parameters(), second.parameters()));
  EXPECT_TRUE(torch::equal(first.engine.collected_signals(), second.engine.collected_signals()));
}

/// Replicas that train on their own with torch's SGD and are averaged when `due`(step) says so, and
/// at the end.
torch::Tensor train_apart(const torch::Tensor& parameters, const StepPlan& plan,
                          const std::function<bool(std::uint32_t)>& due) {
  auto replicas = make_replicas("small-cnn", parameters);
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
  for (Alone& replica : replicas) {
    optimizers.push_back(std::make_unique<torch::optim::SGD>(
        replica.model->parameters(),
        torch::optim::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(0.01)));
  }
  const auto average = [&] {
    torch::Tensor mean = torch::zeros_like(parameters_of(*replicas[0].model));
    for (const Alone& replica : replicas) mean += parameters_of(*replica.model) / double{kWorkers};
    for (Alone& replica : replicas) set_parameters(*replica.model, mean);
  };
  for (std::uint32_t step = 0; step < plan.steps(); ++step) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      const auto batch = plan.batch_of(WorkerId{worker}, step);
      if (batch.empty()) continue;
      replicas[worker].gradient(batch);
      optimizers[worker]->step();
    }
    if (due(step)) average();
  }
  average();
  return parameters_of(*replicas[0].model);
}

void expect_training_apart(SyncRule sync, const StepPlan& plan,
                           const std::function<bool(std::uint32_t)>& due) {
  Training run(with_sync(with_momentum(), sync));
  const auto before = run.parameters();
  run.train(plan, 0, plan.steps(), 0.05);
  run.engine.end_epoch();
  const auto expected = train_apart(before, plan, due);
  EXPECT_LT(relative_distance(run.parameters() - before, expected - before), 1e-5);
}

TEST(Engine, AveragesReplicasAtTheEndOfTheEpoch) {
  expect_training_apart(kAtTheEndOfTheEpoch, make_plan({9, 6, 12, 3}, 3),
                        [](std::uint32_t) { return false; });
}

TEST(Engine, AveragesReplicasEverySoManySteps) {
  expect_training_apart(kEveryTwoSteps, make_plan({15, 6, 12, 3}, 3),
                        [](std::uint32_t step) { return step % 2 == 1; });
}

TEST(Engine, TrainsTheReplicaWhoseRowsTheyAre) {
  // In the second step worker 0 has no row and worker 1 a single one.
  expect_training_apart(kAtTheEndOfTheEpoch, make_plan({3, 4, 3, 4}, 3),
                        [](std::uint32_t) { return false; });
}

TEST(Engine, CollectsTheSignalsOfEachVisit) {
  RunConfig config = plain();
  config.importance.notion = "confidence";
  const StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  Training run(config);
  run.train(plan, 1, 3, 0.0);  // without a learning rate every step has the same weights
  const auto visits = visits_of(plan, {.first = 0, .count = kWorkers}, 1, 3);
  const auto signals = run.engine.collected_signals();
  ASSERT_EQ(signals.sizes(),
            (std::vector<std::int64_t>{3, static_cast<std::int64_t>(visits.ids.size())}));
  std::map<ExampleId, double> expected;
  Alone replica("small-cnn", run.parameters());
  for (std::uint32_t step = 1; step < 3; ++step) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      const auto batch = plan.batch_of(WorkerId{worker}, step);
      if (batch.empty()) continue;
      const auto losses = replica.losses(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        expected[batch[i]] = losses[static_cast<std::int64_t>(i)].item<double>();
      }
    }
  }
  for (std::size_t row = 0; row < visits.ids.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const double loss = expected.at(visits.ids[row]);
    EXPECT_NEAR(signals[SignalSet::kLossRow][at].item<double>(), loss, 1e-4);
    EXPECT_NEAR(signals[2][at].item<double>(), std::exp(-loss), 1e-4);
  }
}

TEST(Engine, HasCollectedAsManyRowsAsItHasTrained) {
  const StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  Training run(plain());
  run.train(plan, 0, 1, 0.1);
  EXPECT_EQ(run.engine.collected_signals().size(1), 15);
  run.engine.run_step(1, 0.1);
  EXPECT_EQ(run.engine.collected_signals().size(1), 23);
  run.engine.begin_epoch(plan, {}, 0);
  EXPECT_EQ(run.engine.collected_signals().size(1), 0);
}

/// Everything that training changes.
std::vector<torch::Tensor> copy_everything(Training& run) {
  std::vector<torch::Tensor> tensors = {run.parameters()};
  for (const auto& [name, tensor] : run.engine.gather_state()) tensors.push_back(tensor.clone());
  tensors.push_back(run.engine.collected_signals());
  return tensors;
}

void expect_to_go_on(const RunConfig& config) {
  const StepPlan plan = make_plan({15, 12, 13, 10}, 3);
  Training straight(config);
  straight.train(plan, 0, 3, 0.05);
  const TemporaryFolder folder;
  save_model(folder / "model.safetensors", straight.engine.model());
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [name, tensor] : straight.engine.gather_state()) saved[name] = tensor.clone();

  Training resumed(config, "small-cnn", 99);
  load_model(folder / "model.safetensors", resumed.engine.model());
  resumed.engine.restore_state([&](const std::string& name) { return saved.at(name); });
  for (Training* run : {&straight, &resumed}) {
    run->train(plan, 3, plan.steps(), 0.05);
    run->engine.end_epoch();
  }
  const auto expected = copy_everything(straight), found = copy_everything(resumed);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(torch::equal(found[i], expected[i])) << i;
  }
}

TEST(Engine, GoesOnBitForBitFromASavedState) {
  expect_to_go_on(with_momentum());
  expect_to_go_on(with_sync(with_momentum(), kEveryTwoSteps));
  expect_to_go_on(with_sync(with_momentum(), kAtTheEndOfTheEpoch));
  RunConfig adamw = with_momentum();
  adamw.optimizer.name = OptimizerConfig::Name::kAdamw;
  expect_to_go_on(adamw);
  expect_to_go_on(with_sync(adamw, kAtTheEndOfTheEpoch));
  RunConfig shared = with_momentum();
  shared.workers.batch_norm = WorkersConfig::BatchNorm::kShared;
  expect_to_go_on(shared);
  RunConfig exact = with_momentum();
  exact.workers.reduce = WorkersConfig::Reduce::kExact;
  const int threads = torch::get_num_threads();
  expect_to_go_on(exact);
  torch::set_num_threads(threads);
}

TEST(Engine, HasAStateBeforeTheFirstStep) {
  Training first(with_momentum());
  std::map<std::string, torch::Tensor> saved;
  ASSERT_NO_THROW({
    for (const auto& [name, tensor] : first.engine.gather_state()) saved[name] = tensor.clone();
  });
  Training second(with_momentum());
  second.engine.restore_state([&](const std::string& name) { return saved.at(name); });
  const StepPlan plan = make_plan({6, 6, 6, 6}, 6);
  for (Training* run : {&first, &second}) run->train(plan, 0, 1, 0.05);
  EXPECT_TRUE(torch::equal(first.parameters(), second.parameters()));
}

TEST(Engine, InfersTheLossOfEveryExampleInEvaluationMode) {
  Training run(with_momentum());
  run.train(make_plan({9, 4, 8, 3}, 4), 0, 3, 0.05);
  const std::vector<float> losses = run.engine.inference_losses();
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kExamples));
  EXPECT_TRUE(run.engine.model().is_training());

  Alone direct("small-cnn", run.parameters());
  torch::Tensor statistics = copy_worker_statistics(run.engine.model(), 0) / double{kWorkers};
  for (std::uint32_t worker = 1; worker < kWorkers; ++worker) {
    statistics += copy_worker_statistics(run.engine.model(), worker) / double{kWorkers};
  }
  set_running_statistics(*direct.model, statistics);
  direct.model->eval();
  const auto images = make_images();
  const auto pixels = make_batch(images, torch::arange(kExamples)).to(torch::kDouble);
  const auto logits = direct.model->forward(pixels).logits;
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const auto loss = logits[i].logsumexp(0) - logits[i][images.labels[i]];
    EXPECT_NEAR(double{losses[i]}, loss.item<double>(), 1e-4);
  }
}

torch::Tensor running_statistics_of(Classifier& model) {
  std::vector<torch::Tensor> pieces;
  visit_batch_norms(model, [&](const std::string&, WorkerBatchNorm2dImpl& layer) {
    pieces.push_back(layer.running_mean);
    pieces.push_back(layer.running_var);
  });
  return torch::cat(pieces);
}

TEST(Engine, EvaluatesByTheMeanOfTheWorkersStatisticsOrThoseOfTheFirst) {
  for (const auto which :
       {WorkersConfig::RunningStats::kMean, WorkersConfig::RunningStats::kWorker0}) {
    RunConfig config = plain();
    config.workers.running_stats = which;
    Training run(config);
    run.train(make_plan({9, 4, 8, 3}, 4), 0, 3, 0.05);
    std::vector<torch::Tensor> rows;
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      rows.push_back(copy_worker_statistics(run.engine.model(), worker));
    }
    run.engine.collapse_statistics();
    const auto found = running_statistics_of(run.engine.model());
    const auto mean = torch::stack(rows).mean(0);
    const bool is_mean = which == WorkersConfig::RunningStats::kMean;
    EXPECT_LT(relative_distance(found, is_mean ? mean : rows[0]), 1e-6);
    EXPECT_GT(relative_distance(found, is_mean ? rows[0] : mean), 1e-3);
    EXPECT_TRUE(torch::equal(copy_worker_statistics(run.engine.model(), 3), rows[3]));
  }
}

}  // namespace
}  // namespace impart
