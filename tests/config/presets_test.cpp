#include <filesystem>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/config/config_file.h"

namespace impart::config {
namespace {

namespace fs = std::filesystem;

const fs::path kPresets = fs::path(IMPART_SOURCE_DIR) / "presets";

RunConfig load(const std::string& name) {
  return load_config((kPresets / name).string(), {});
}

bool is_run(const fs::path& path) {
  const fs::path folder = path.parent_path().filename();
  return path.extension() == ".yaml" && folder != "studies" && folder != "machines";
}

TEST(Presets, AllLoadAndHaveTheirOwnNames) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kPresets)) {
    if (!is_run(entry.path())) continue;
    const RunConfig config = load(entry.path().string());
    EXPECT_TRUE(names.insert(config.name).second) << entry.path();
  }
  EXPECT_GE(names.size(), 23u);
}

TEST(Presets, WorkForAnyNumberOfEpochs) {
  for (const auto& entry : fs::recursive_directory_iterator(kPresets)) {
    if (!is_run(entry.path())) continue;
    for (const int epochs : {1, 2, 3, 4, 5, 6, 7, 9, 15, 40}) {
      EXPECT_NO_THROW(
          load_config(entry.path().string(), std::vector{fmt::format("epochs={}", epochs)}))
          << entry.path() << " with " << epochs;
    }
  }
}

TEST(Presets, FollowTheProtocolOfThePaper) {
  for (const std::string setup : {"cifar10-resnet18", "cifar10-resnet34", "cifar100-resnet34"}) {
    for (const std::string kind : {"vanilla", "stripes", "blocks"}) {
      const RunConfig config = load("dais/" + setup + "-" + kind + ".yaml");
      EXPECT_EQ(config.name, "dais-" + setup + "-" + kind);
      EXPECT_EQ(config.data.name + "-" + config.model.name, setup);
      EXPECT_EQ(config.data.root, "data/" + config.data.name);
      EXPECT_EQ(config.partition.heuristic, kind == "vanilla" ? "random" : kind);
      EXPECT_EQ(config.epochs, 100u);
      EXPECT_EQ(config.workers.count * config.workers.batch, 4u * 256u);
      EXPECT_EQ(config.workers.shuffle, placement::ShuffleKind::kShared);
      EXPECT_EQ(config.eval.protocol, EvalConfig::Protocol::kPaper);
      EXPECT_EQ(config.importance.ignore.of(config.epochs), 5u);
      EXPECT_EQ(config.optimizer.lr, 0.1);
      EXPECT_EQ(config.optimizer.weight_decay, 5e-4);
    }
  }
  EXPECT_EQ(load("dais/cifar10-resnet18-stripes.yaml").partition.warmup.of(100), 20u);
  EXPECT_EQ(load("dais/cifar10-resnet18-blocks.yaml").partition.warmup.of(100), 15u);
}

}  // namespace
}  // namespace impart::config
