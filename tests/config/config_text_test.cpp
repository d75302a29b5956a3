#include "impart/config/config_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/config/config_file.h"
#include "impart/config/rules.h"
#include "tests/config/random_config.h"
#include "tests/support/temporary_folder.h"

namespace impart::config {
namespace {

/// What load_config makes of it, but for `output`, whose placeholders it fills in.
RunConfig through_yaml(const RunConfig& config) {
  const testing::TemporaryFolder folder;
  RunConfig read = load_config(folder.write("config.yaml", to_yaml(config)), {}, kAnyProgram);
  read.output = config.output;
  return read;
}

TEST(ConfigText, RoundTripsTheDefaults) {
  EXPECT_EQ(through_yaml(RunConfig{}), RunConfig{});
}

/// Values that are drawn are each right on their own.
bool keeps_rules(const RunConfig& config) {
  return find_broken_rule(config, {.own = kAnyProgram}) == nullptr;
}

/// Runs on images, on language, on texts with classes, with coarse classes, and from a file of
/// owners: from one to another several keys would have to change at once.
std::vector<RunConfig> starts() {
  std::vector<RunConfig> configs(6);
  configs[1].data.name = "generated";
  configs[1].model.name = "gpt-tiny";
  configs[2].data.name = "table";
  configs[2].data.label_column = "label";
  configs[2].model.name = "text-encoder";
  configs[3].data.name = "cifar100";
  configs[3].data.coarse = true;
  configs[4].partition.start = "file";
  configs[4].partition.start_file = "owners.csv";
  configs[5].store.files = true;
  configs[5].store.cache_path = "cache";
  configs[5].store.cache_disk = 5;
  return configs;
}

TEST(ConfigText, RoundTripsAnyConfigThatIsValid) {
  const Schema schema = make_schema(kAnyProgram);
  RandomStream random({.seed = 3, .purpose = Purpose("test")});
  std::set<std::string> changed;
  for (const RunConfig& start : starts()) {
    ASSERT_TRUE(keeps_rules(start)) << to_yaml(start);
    for (int i = 0; i < 10; ++i) {
      RunConfig config = testing::random_config(start, schema, random, keeps_rules);
      ASSERT_NO_THROW(validate(config, kAnyProgram)) << to_yaml(config);
      config.output = "a \"quoted\": {name} # [no] 'comment' \\ ü";
      ASSERT_EQ(through_yaml(config), config) << to_yaml(config);
      for (const ConfigKey& key : schema) {
        if (key.get(config) != key.get(RunConfig{})) changed.insert(key.path());
      }
    }
  }
  for (const ConfigKey& key : schema) EXPECT_TRUE(changed.contains(key.path())) << key.path();
}

TEST(ConfigText, RoundTripsTextsThatYamlWouldMisread) {
  const char* texts[] = {"",      "null",      "~",   "true",        "1e3", "- x",    "# x",
                         "x # y", "a: b",      "'x'", "\"x\"",       "[x]", "{x: y}", "*x",
                         "&x",    "!x",        "%x",  "@x",          "`x`", "| x",    "> x",
                         " x ",   "x:",        "...", "---",         "\\n", "?",      "x, y",
                         "ä€𝄞",   "\xC2\x85x", "<<",  "\xE2\x80\xA8"};
  for (const char* text : texts) {
    RunConfig config;
    config.data.root = text;
    EXPECT_EQ(through_yaml(config).data.root, text);
  }
}

TEST(ConfigText, RoundTripsNumbersToTheLastBit) {
  RandomStream random({.seed = 4, .purpose = Purpose("test")});
  for (int i = 0; i < 200; ++i) {
    RunConfig config;
    config.optimizer.lr = std::exp2(random.uniform() * 200 - 100);
    config.seed = random.next64();
    EXPECT_EQ(through_yaml(config), config);
  }
}

TEST(ConfigText, HashChangesWithEveryKeyThatChangesTheResultAndNoOther) {
  const Schema schema = make_schema();
  const std::string hash = config_hash(RunConfig{});
  EXPECT_EQ(hash.size(), 16u);
  RandomStream random({.seed = 5, .purpose = Purpose("test")});
  for (const ConfigKey& key : schema) {
    RunConfig config;
    for (const WrittenValue& value : testing::candidates(key, random)) {
      if (testing::try_set(key, value, config) && key.get(config) != key.get(RunConfig{})) break;
    }
    EXPECT_EQ(config_hash(config) != hash, key.changes_result) << key.path();
  }
}

TEST(ConfigText, HashOfRunsThatThereWereBeforeAKeyStays) {
  RunConfig config{.epochs = 1};
  config.data.train_examples = 64;
  config.data.test_examples = 16;
  config.importance.ignore = 0;
  config.partition.warmup = 1;
  EXPECT_EQ(config_hash(config), "9a4d2d0fb13ea396");
}

TEST(ConfigText, KeepsSharesAndSaysWhatTheyAre) {
  RunConfig config{.epochs = 8};
  config.partition.warmup = Epochs::share(50);
  EXPECT_NE(to_yaml(config).find("  warmup: \"50%\"  # of 8 epochs: 4\n"), std::string::npos)
      << to_yaml(config);
  EXPECT_EQ(through_yaml(config), config);
  RunConfig same = config;
  same.partition.warmup = 4;
  EXPECT_EQ(config_hash(config), config_hash(same));
}

TEST(ConfigText, LeavesOutOfTheHashWhatTheHeaderSays) {
  std::vector<std::string> left_out;
  for (const ConfigKey& key : make_schema()) {
    if (!key.changes_result) left_out.push_back(key.path());
  }
  const std::vector<std::string> documented = {"name",
                                               "device",
                                               "threads",
                                               "data.decode_threads",
                                               "data.prefetch",
                                               "workers.transport",
                                               "train.stop_on_nan",
                                               "importance.history",
                                               "importance.record",
                                               "importance.images",
                                               "importance.texts",
                                               "importance.token_losses",
                                               "importance.dissimilarity",
                                               "partition.save",
                                               "store.cache_path",
                                               "store.path",
                                               "store.prefetch",
                                               "remote.connections",
                                               "remote.retries",
                                               "remote.timeout",
                                               "remote.least_rate",
                                               "remote.gap",
                                               "comm.timeout",
                                               "checkpoint.every",
                                               "checkpoint.keep",
                                               "checkpoint.last",
                                               "output"};
  EXPECT_EQ(left_out, documented);
}

TEST(ConfigText, HelpAndDocumentationHaveEveryKeyWithItsDefault) {
  const Schema schema = make_schema();
  const std::string help = help_text(schema);
  const std::string table = markdown_table(schema);
  for (const ConfigKey& key : schema) {
    EXPECT_NE(help.find("  " + key.path() + " "), std::string::npos) << key.path();
    EXPECT_NE(table.find("| `" + key.path() + "` |"), std::string::npos) << key.path();
  }
  EXPECT_NE(table.find("| `workers.count` | `4` | 1 to 1048576 | logical workers | yes |\n"),
            std::string::npos);
  EXPECT_NE(table.find("| `device` | `auto` | auto \\| cpu \\| cuda |"), std::string::npos);
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')),
            schema.size() + 2);
}

}  // namespace
}  // namespace impart::config
