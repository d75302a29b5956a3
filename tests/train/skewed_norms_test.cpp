// A run whose parts differ in their classes under each worker's own batch norm says so.

#include <gtest/gtest.h>

#include "tests/train/own_run_fixture.h"

namespace impart::train {
namespace {

using namespace testing;

/// Shapes that are as hard as the number of their class, so that blocks are parts by class.
feed::OwnData load_graded_shapes() {
  data::ImageData images = load_shapes();
  images.train.truth.assign(images.train.labels.begin(), images.train.labels.end());
  return feed::OwnData{std::move(images)};
}

struct Said {
  std::vector<std::string> notes;
  std::optional<double> skew;
};

Said run_with(const std::function<void(config::RunConfig&)>& change) {
  const TemporaryFolder folder;
  config::RunConfig config = tiny_config(folder);
  config.data.name = "graded-shapes";
  config.model.name = "small-cnn";
  config.importance.notion = "truth";
  config.importance.images = 0;
  config.partition.heuristic = "blocks";
  change(config);
  Said said;
  const auto communicator = comm::make_single_communicator();
  const auto outcome = run_training(
      {.config = config,
       .config_text = config::to_yaml(config),
       .config_hash = config::config_hash(config),
       .own_data = load_graded_shapes},
      *communicator, {.note = [&](const std::string& note) { said.notes.push_back(note); }});
  said.skew = outcome.summary.batch_norm_skew;
  return said;
}

TEST(SkewedNorms, AreSaidOnceWithWhatHelps) {
  const Said said = run_with([](config::RunConfig&) {});
  ASSERT_EQ(said.notes.size(), 1U) << said.notes.size();
  EXPECT_NE(said.notes[0].find("epoch 2: the workers' parts differ in their classes"),
            std::string::npos)
      << said.notes[0];
  EXPECT_NE(said.notes[0].find("workers.batch_norm=shared"), std::string::npos) << said.notes[0];
  ASSERT_TRUE(said.skew);
  EXPECT_NEAR(*said.skew, 2.0 / 3, 0.05);
}

TEST(SkewedNorms, AreNoneWithoutSkewOrWithoutStatisticsOfWorkers) {
  const auto expect_silence = [](const std::function<void(config::RunConfig&)>& change) {
    const Said said = run_with(change);
    EXPECT_TRUE(said.notes.empty()) << said.notes[0];
    EXPECT_FALSE(said.skew);
  };
  expect_silence([](config::RunConfig& c) { c.partition.heuristic = "random"; });
  expect_silence([](config::RunConfig& c) { c.workers.batch_norm = 2; });
  expect_silence([](config::RunConfig& c) { c.model.norm = config::Norm::kGroup; });
  expect_silence([](config::RunConfig& c) { c.model.name = "mlp"; });
}

}  // namespace
}  // namespace impart::train
