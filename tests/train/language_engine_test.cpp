// Steps of language models and text classifiers: what stacked workers train is what separate
// replicas would, and what is saved goes on bit for bit.

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "impart/feed/token_feed.h"
#include "impart/models/init.h"
#include "impart/models/layers/dropout.h"
#include "impart/models/losses.h"
#include "impart/models/state.h"
#include "impart/models/text/text_models.h"
#include "impart/placement/outers.h"
#include "impart/train/engine.h"
#include "impart/train/evaluation.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/engine_fixture.h"
#include "tests/train/local/apart_reference.h"
#include "tests/train/token_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

constexpr std::uint64_t kBlocks = 40;

data::TokenSet set_for(const std::string& model) {
  if (config::find_model_name(model)->task == data::kLanguage) return make_corpus(kBlocks, 2);
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < kBlocks; ++i) lengths.push_back(1 + i * 5 % kLength);
  return make_texts(lengths);
}

std::shared_ptr<models::Classifier> make_text_model(const std::string& name, std::uint64_t seed,
                                                    double dropout) {
  auto model = find_entry(models::kTextModels, "model", name)
                   .function({.vocabulary = kVocabulary + 1,
                              .length = kLength,
                              .classes = 3,
                              .pad = kVocabulary,
                              .dropout = dropout});
  models::initialise_parameters(*model, seed);
  return model;
}

struct TextTraining {
  std::unique_ptr<comm::Communicator> communicator = comm::make_single_communicator();
  std::unique_ptr<feed::Feed> feed;
  Engine engine;

  TextTraining(const config::RunConfig& config, const std::string& model, std::uint64_t seed = 3,
               double dropout = 0)
      : feed(feed::make_token_feed(set_for(model), torch::kCPU)),
        engine(
            {.config = config, .model = make_text_model(model, seed, dropout), .feed = feed.get()},
            *communicator) {}

  void train(const placement::StepPlan& plan, std::uint32_t first, std::uint32_t last,
             double rate) {
    engine.begin_epoch(plan, 0, first);
    for (std::uint32_t step = first; step < last; ++step) engine.run_step(step, rate);
  }
  torch::Tensor parameters() { return parameters_of(engine.model()); }
};

/// A worker on its own, with a model in double.
struct TextAlone {
  std::shared_ptr<models::Classifier> model;
  std::shared_ptr<models::DropoutPlan> masks = std::make_shared<models::DropoutPlan>();
  std::unique_ptr<feed::Feed> feed;

  explicit TextAlone(const std::string& name, double dropout = 0)
      : model(make_text_model(name, 1, dropout)),
        feed(feed::make_token_feed(set_for(name), torch::kCPU)) {
    model->to(torch::kDouble);
    masks->seed = plain().seed;
    models::set_dropout_plan(*model, masks);
  }

  /// Of the mean loss of a batch, with the worker's dropout of a step of the first epoch.
  torch::Tensor gradient(const torch::Tensor& parameters, std::span<const ExampleId> batch,
                         std::uint32_t worker = 0, std::uint32_t step = 0) {
    set_parameters(*model, parameters);
    model->zero_grad();
    masks->step = step;
    masks->slices = {{WorkerId{worker}, static_cast<std::int64_t>(batch.size())}};
    feed->begin({.ids = {batch.begin(), batch.end()},
                 .workers = std::vector<WorkerId>(batch.size()),
                 .ends = {static_cast<std::int64_t>(batch.size())}});
    store::PhaseSeconds seconds;
    const feed::Batch rows = feed->next(seconds);
    models::example_losses(model->forward(rows.inputs).logits, rows.targets).mean().backward();
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : model->parameters()) {
      gradients.push_back(parameter.grad().defined()
                              ? parameter.grad().flatten()
                              : torch::zeros({parameter.numel()}, torch::kDouble));
    }
    return torch::cat(gradients);
  }
};

void expect_language_step_of_replicas(const std::string& model,
                                      const std::vector<std::uint64_t>& sizes) {
  const placement::StepPlan plan = make_plan(sizes, 8);
  TextTraining run(plain(), model);
  const auto before = run.parameters();
  run.train(plan, 0, 1, 1.0);
  TextAlone alone(model);
  torch::Tensor sum = torch::zeros_like(before);
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
    const auto batch = plan.batch_of(WorkerId{worker}, 0);
    if (batch.empty()) continue;
    sum += alone.gradient(before, batch) * static_cast<double>(batch.size());
  }
  sum /= static_cast<double>(plan.examples_in(0));
  EXPECT_LT(relative_distance(run.parameters() - before, -sum), 1e-4) << model;
}

class EveryTextModel : public ::testing::TestWithParam<models::TextModelEntry> {};

TEST_P(EveryTextModel, StepsAsSeparateReplicasWould) {
  const std::string name(GetParam().name);
  if (name == "gpt2-small") GTEST_SKIP() << "the same code as the smaller ones, and 124 M numbers";
  expect_language_step_of_replicas(name, {6, 6, 6, 6});
  expect_language_step_of_replicas(name, {8, 0, 1, 6});
}

TEST_P(EveryTextModel, SmoothsLabelsForTrainingOnly) {
  const std::string name(GetParam().name);
  if (name == "gpt2-small") GTEST_SKIP() << "the same code as the smaller ones, and 124 M numbers";
  const placement::StepPlan plan = make_plan({6, 6, 6, 6}, 8);
  config::RunConfig config = plain();
  TextTraining hard(config, name);
  config.optimizer.label_smoothing = 0.5;
  TextTraining soft(config, name);
  for (TextTraining* run : {&hard, &soft}) run->train(plan, 0, 1, 1.0);
  EXPECT_TRUE(torch::equal(hard.engine.collected_signals(), soft.engine.collected_signals()));
  EXPECT_GT(relative_distance(hard.parameters(), soft.parameters()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryTextModel, ::testing::ValuesIn(models::kTextModels),
                         [](const auto& row) {
                           std::string name(row.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

void expect_language_to_go_on(const config::RunConfig& config) {
  const placement::StepPlan plan = make_plan({15, 12, 13, 10}, 3);
  TextTraining straight(config, "gpt-tiny", 3, 0.2);
  straight.train(plan, 0, 3, 0.05);
  const TemporaryFolder folder;
  models::save_model(folder / "model.safetensors", straight.engine.model());
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [name, tensor] : straight.engine.gather_state()) saved[name] = tensor.clone();
  TextTraining resumed(config, "gpt-tiny", 99, 0.2);
  models::load_model(folder / "model.safetensors", resumed.engine.model());
  resumed.engine.restore_state([&](const std::string& name) { return saved.at(name); });
  for (TextTraining* run : {&straight, &resumed}) {
    run->train(plan, 3, plan.steps(), 0.05);
    run->engine.end_epoch();
  }
  EXPECT_TRUE(torch::equal(straight.parameters(), resumed.parameters()));
  EXPECT_TRUE(
      torch::equal(straight.engine.collected_signals(), resumed.engine.collected_signals()));
}

TEST(LanguageEngine, GoesOnBitForBitFromASavedStateWithDropout) {
  expect_language_to_go_on(with_momentum());
  config::RunConfig adamw = with_momentum();
  adamw.optimizer.name = config::OptimizerConfig::Name::kAdamw;
  expect_language_to_go_on(adamw);
  expect_language_to_go_on(with_sync(adamw, kAtTheEndOfTheEpoch));
}

/// Three outer steps of workers with uneven parts and dropout.
void expect_outer_steps_as_published(const config::RunConfig& config) {
  const placement::StepPlan plan = make_plan({11, 6, 9, 4}, 2);  // 6 steps
  TextTraining run(config, "gpt-tiny", 3, 0.2);
  const auto before = run.parameters();
  run.train(plan, 0, plan.steps(), config.optimizer.lr);
  run.engine.end_epoch();
  const auto& rule = config::outer_rule(config.workers);
  ApartReference reference(
      config, before, {.rule = config.workers.outer, .lr = rule.lr, .momentum = rule.momentum});
  TextAlone alone("gpt-tiny", 0.2);
  const auto gradient = [&](std::uint32_t worker, std::uint32_t step, const torch::Tensor& values) {
    return alone.gradient(values, plan.batch_of(WorkerId{worker}, step), worker, step);
  };
  const auto expected = reference.train(plan, gradient, config.optimizer.lr);
  EXPECT_LT(relative_distance(run.parameters() - before, expected - before), 1e-5)
      << config.workers.outer;
}

TEST(LanguageEngine, TakesOuterStepsAsPublishedWithDropout) {
  for (const placement::OuterEntry& rule : placement::kOuters) {
    config::RunConfig config = with_sync(with_momentum(), kEveryTwoSteps);
    config.workers.outer = rule.name;
    config.optimizer.lr = 0.05;
    expect_outer_steps_as_published(config);
    config.optimizer.name = config::OptimizerConfig::Name::kAdamw;
    // Of smaller steps the rounding of weights is more; in larger ones it grows from step to step.
    config.optimizer.lr = 0.015;
    config.optimizer.epsilon = 1e-2;  // noise of a gradient that is zero does not count
    expect_outer_steps_as_published(config);
  }
}

TEST(LanguageEngine, DrawsTheSameDropoutInMicroBatches) {
  const placement::StepPlan plan = make_plan({6, 6, 6, 6}, 6);
  config::RunConfig config = plain();
  TextTraining whole(config, "gpt-tiny", 3, 0.3);
  const auto before = whole.parameters();
  whole.train(plan, 0, 1, 0.1);
  config.workers.micro_batch = 6;
  TextTraining parts(config, "gpt-tiny", 3, 0.3);
  parts.train(plan, 0, 1, 0.1);
  EXPECT_LT(relative_distance(parts.parameters() - before, whole.parameters() - before), 1e-4);
  TextTraining without(plain(), "gpt-tiny", 3, 0);
  without.train(plan, 0, 1, 0.1);
  EXPECT_GT(relative_distance(without.parameters() - before, whole.parameters() - before), 1e-2);
}

TEST(LanguageEngine, CollectsTheSignalsOfEachBlock) {
  config::RunConfig config = plain();
  config.importance.notion = "confidence";
  const placement::StepPlan plan = make_plan({9, 4, 8, 3}, 4);
  TextTraining run(config, "gpt-tiny");
  run.train(plan, 0, 3, 0.0);
  const auto visits = placement::visits_of(plan, {.first = 0, .count = kWorkers}, 0, 3);
  const auto signals = run.engine.collected_signals();
  const auto losses = run.engine.inference_losses(make_partition());
  for (std::size_t row = 0; row < visits.ids.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const double loss = double{losses[index(visits.ids[row])]};
    EXPECT_NEAR(signals[SignalSet::kLossRow][at].item<double>(), loss, 1e-4);
    EXPECT_NEAR(signals[2][at].item<double>(), std::exp(-loss), 1e-4);
  }
}

TEST(LanguageEvaluation, IsTheMeanOverTokensNotOverBlocks) {
  const data::TokenSet set = make_corpus(7, 4);
  auto model = make_text_model("gpt-tiny", 3, 0);
  const auto feed = feed::make_token_feed(set, torch::kCPU);
  const auto communicator = comm::make_single_communicator();
  const Evaluation found = evaluate(*model, *feed, {.batch = 3}, *communicator);
  const torch::NoGradGuard no_grad;
  model->eval();
  double loss = 0, right = 0, count = 0;
  for (std::uint64_t id = 0; id < set.count(); ++id) {
    const auto tokens = set.example(ExampleId{id});
    const std::vector<std::int64_t> numbers(tokens.begin(), tokens.end());
    const auto row = torch::tensor(numbers, torch::kInt64).unsqueeze(0);
    const std::int64_t length = row.size(1) - 1;
    const auto logits = model->forward(row.narrow(1, 0, length)).logits[0].to(torch::kDouble);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t target = numbers[static_cast<std::size_t>(i) + 1];
      loss += (logits[i].logsumexp(0) - logits[i][target]).item<double>();
      right += logits[i].argmax().item<std::int64_t>() == target ? 1 : 0;
      count += 1;
    }
  }
  EXPECT_EQ(static_cast<double>(found.predictions), count);
  EXPECT_EQ(found.predictions, 7 * kLength - 4u);
  EXPECT_NEAR(found.loss, loss / count, 1e-5);
  EXPECT_NEAR(found.accuracy, 100 * right / count, 1e-9);
}

}  // namespace
}  // namespace impart::train
