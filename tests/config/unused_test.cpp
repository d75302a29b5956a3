#include "impart/config/unused.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/config/config_file.h"
#include "impart/config/config_keys.h"

namespace impart::config {
namespace {

using Sentences = std::vector<std::string>;

Sentences unused_of(const std::vector<std::string>& overrides) {
  const Schema schema = make_schema();
  RunConfig config;
  for (const std::string& text : overrides) apply_override(schema, text, config);
  return describe_unused(config);
}

TEST(Unused, SaysWhichStrategyDoesNotLookAtASetting) {
  EXPECT_EQ(unused_of({}), Sentences{});
  EXPECT_EQ(unused_of({"selection.share=0.3"}),
            Sentences{"selection.share has no effect with selection.strategy: all"});
  EXPECT_EQ(unused_of({"selection.strategy=infobatch", "selection.share=0.3"}), Sentences{});
  EXPECT_EQ(unused_of({"selection.strategy=infobatch", "selection.confidence=0.9"}),
            Sentences{"selection.confidence has no effect with selection.strategy: infobatch"});
  EXPECT_EQ(unused_of({"selection.strategy=prune", "selection.whole_steps=true"}),
            Sentences{"selection.whole_steps has no effect with selection.strategy: prune"});
  EXPECT_EQ(unused_of({"exchange.fraction=0.5"}),
            Sentences{"exchange.fraction has no effect with exchange.strategy: none"});
  EXPECT_EQ(unused_of({"exchange.fraction=0.5", "exchange.strategy=partial"}), Sentences{});
  EXPECT_EQ(unused_of({"partition.alpha=0.1", "partition.strength=1"}),
            (Sentences{"partition.alpha has no effect with partition.start: random",
                       "partition.strength has no effect with partition.heuristic: stripes"}));
  EXPECT_EQ(unused_of({"partition.alpha=0.1", "partition.start=dirichlet"}), Sentences{});
}

TEST(Unused, SaysNothingOfStrategiesOfAProgramsOwn) {
  RunConfig config;
  config.selection.strategy = "mine";
  config.selection.share = 0.3;
  EXPECT_EQ(describe_unused(config), Sentences{});
}

TEST(Unused, IsNothingInThePresets) {
  const std::filesystem::path presets = std::filesystem::path(IMPART_SOURCE_DIR) / "presets";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(presets)) {
    const auto folder = entry.path().parent_path().filename();
    if (entry.path().extension() != ".yaml" || folder == "studies" || folder == "machines")
      continue;
    EXPECT_EQ(describe_unused(load_config(entry.path().string(), {})), Sentences{}) << entry.path();
  }
}

}  // namespace
}  // namespace impart::config
