#include "impart/config/schema.h"

#include <set>

#include <gtest/gtest.h>

#include "impart/config/config_keys.h"
#include "impart/core/error.h"
#include "tests/config/messages.h"
#include "tests/config/random_config.h"

namespace impart::config {
namespace {

using testing::config_error;

std::string error_of(std::string_view path, const WrittenValue& value) {
  const Schema schema = make_schema();
  RunConfig config;
  return config_error([&] { key_at(schema, path).set(config, value); });
}

TEST(Schema, HasEveryKeyOnceWithHelpAndKeepsSectionsTogether) {
  std::set<std::string> paths, finished_sections;
  std::string_view section;
  for (const ConfigKey& key : make_schema()) {
    EXPECT_TRUE(paths.insert(key.path()).second) << key.path();
    EXPECT_FALSE(key.help.empty()) << key.path();
    EXPECT_FALSE(key.allowed.empty()) << key.path();
    if (key.section != section && !section.empty()) finished_sections.insert(std::string(section));
    section = key.section;
    EXPECT_FALSE(finished_sections.contains(std::string(section))) << key.path();
  }
  EXPECT_EQ(paths.size(), 138u);
}

TEST(Schema, SettingAKeyChangesThatKeyAndNoOther) {
  const Schema schema = make_schema();
  RandomStream random({.seed = 1, .purpose = Purpose("test")});
  for (const ConfigKey& key : schema) {
    RunConfig config;
    for (const WrittenValue& value : testing::candidates(key, random)) {
      if (testing::try_set(key, value, config) && key.get(config) != key.get(RunConfig{})) break;
    }
    for (const ConfigKey& other : schema) {
      const bool changed = other.get(config) != other.get(RunConfig{});
      EXPECT_EQ(changed, other.path() == key.path()) << key.path() << " and " << other.path();
    }
  }
}

TEST(Schema, AcceptsEveryDefault) {
  for (const ConfigKey& key : make_schema()) {
    RunConfig config;
    EXPECT_NO_THROW(key.set(config, key.get(RunConfig{}))) << key.path();
    EXPECT_EQ(config, RunConfig{}) << key.path();
  }
}

TEST(Schema, AcceptsEveryNameItSaysIsAllowed) {
  for (const ConfigKey& key : make_schema()) {
    if (key.allowed.find("number of") != std::string::npos) continue;  // not only names
    if (key.allowed.find(" | ") == std::string::npos) continue;
    for (const std::string& name : testing::names_in_allowed(key.allowed)) {
      RunConfig config;
      EXPECT_NO_THROW(key.set(config, {name})) << key.path();
      EXPECT_EQ(key.get(config), WrittenValue{name}) << key.path();
    }
  }
}

TEST(Schema, ReadsHowManyWorkersShareStatistics) {
  const Schema schema = make_schema();
  const ConfigKey& key = key_at(schema, "workers.batch_norm");
  RunConfig config;
  config.workers.count = 6;
  const auto read = [&](const char* text) {
    key.set(config, {text});
    return std::pair(config.workers.norm_group(), key.get(config).front());
  };
  EXPECT_EQ(read("worker"), std::pair(1U, std::string("worker")));
  EXPECT_EQ(read("1"), std::pair(1U, std::string("worker")));
  EXPECT_EQ(read("shared"), std::pair(6U, std::string("shared")));
  EXPECT_EQ(read("2"), std::pair(2U, std::string("2")));
  EXPECT_EQ(read("64"), std::pair(6U, std::string("64")));
  for (const char* wrong : {"0", "-1", "all", "", "1.5"}) {
    EXPECT_THROW(key.set(config, {wrong}), ConfigError) << wrong;
  }
}

TEST(Schema, ReadsSharesAsNumberOrPercent) {
  const Schema schema = make_schema();
  const ConfigKey& key = key_at(schema, "data.validation");
  RunConfig config;
  EXPECT_EQ(key.get(config), WrittenValue{"none"});
  key.set(config, {"0.25"});
  EXPECT_EQ(config.data.validation, 0.25);
  key.set(config, {"12.5%"});
  EXPECT_EQ(config.data.validation, 0.125);
  EXPECT_EQ(key.get(config), WrittenValue{"0.125"});
  key.set(config, {"none"});
  EXPECT_EQ(config.data.validation, 0);
  for (const char* wrong : {"0", "1", "1.5", "nan", "inf", "-0.1", "0%", "100%", "%", "", "some"}) {
    EXPECT_THROW(key.set(config, {wrong}), ConfigError) << wrong;
  }
}

TEST(Schema, ReadsSeedsOfSingleStreamsBesideTheSeed) {
  const Schema schema = make_schema();
  RunConfig config{.seed = 3};
  EXPECT_EQ(seed_of(config, &RunConfig::seed_init), 3u);
  apply_override(schema, "seed.init=18446744073709551615", config);
  apply_override(schema, "seed=4", config);
  EXPECT_EQ(seed_of(config, &RunConfig::seed_init), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(seed_of(config, &RunConfig::seed_order), 4u);
  apply_override(schema, "seed.init=seed", config);
  EXPECT_EQ(config, RunConfig{.seed = 4});
  EXPECT_THROW(apply_override(schema, "seed.init=-1", config), ConfigError);
  EXPECT_THROW(apply_override(schema, "seed.others=1", config), ConfigError);
}

TEST(Schema, SaysWhatWasFoundAndWhatIsAllowed) {
  EXPECT_EQ(error_of("workers.count", {"abc"}),
            "'abc' is not a whole number; allowed: 1 to 1048576");
  EXPECT_EQ(error_of("workers.count", {"0"}), "'0' is out of range; allowed: 1 to 1048576");
  EXPECT_EQ(error_of("workers.batch", {"-3"}), "'-3' is out of range; allowed: 1 or more");
  EXPECT_EQ(error_of("workers.batch", {"3.5"}), "'3.5' is not a whole number; allowed: 1 or more");
  EXPECT_EQ(error_of("seed", {"18446744073709551616"}),
            "'18446744073709551616' is out of range; allowed: 0 or more");
  EXPECT_EQ(error_of("optimizer.lr", {"0"}), "'0' is out of range; allowed: more than 0");
  EXPECT_EQ(error_of("optimizer.lr", {"nan"}), "'nan' is not a number; allowed: more than 0");
  EXPECT_EQ(error_of("optimizer.lr", {"inf"}), "'inf' is out of range; allowed: more than 0");
  EXPECT_EQ(error_of("optimizer.momentum", {"1"}),
            "'1' is out of range; allowed: 0 to less than 1");
  EXPECT_EQ(error_of("exchange.fraction", {"1.5"}), "'1.5' is out of range; allowed: 0 to 1");
  for (const std::string bad : {"1", "1.5", "-0.1"}) {
    EXPECT_EQ(error_of("selection.share", {bad}),
              "'" + bad + "' is out of range; allowed: 0 to less than 1");
  }
  EXPECT_EQ(error_of("selection.share", {"nan"}),
            "'nan' is not a number; allowed: 0 to less than 1");
  EXPECT_EQ(error_of("selection.share", {"0"}), "");
  EXPECT_EQ(error_of("selection.share", {"published"}), "");
  EXPECT_EQ(error_of("selection.strategy", {"infobach"}),
            "unknown selection 'infobach', did you mean 'infobatch'?");
  EXPECT_EQ(error_of("partition.sticky", {"yes"}),
            "'yes' is not true or false; allowed: true | false");
  EXPECT_EQ(error_of("precision", {"fp8"}), "unknown precision 'fp8'; there are: fp32, tf32, bf16");
  EXPECT_EQ(error_of("partition.heuristic", {"strips"}),
            "unknown heuristic 'strips', did you mean 'stripes'?");
  EXPECT_EQ(error_of("importance.record", {"el2n", "el2n"}), "'el2n' is in the list twice");
  EXPECT_EQ(error_of("name", {"two\nlines"}),
            "the text has control characters or is not UTF-8; allowed: one line of text");
  EXPECT_NE(error_of("name", {"\xC0\x80"}), "");
  EXPECT_NE(error_of("name", {"\xED\xA0\x80"}), "");
  EXPECT_EQ(error_of("name", {"größer €𝄞"}), "");
}

TEST(Schema, ReadsTheThreeWaysToSynchronise) {
  const Schema schema = make_schema();
  const ConfigKey& sync = key_at(schema, "workers.sync");
  RunConfig config;
  sync.set(config, {"epoch"});
  EXPECT_EQ(config.workers.sync.kind, SyncRule::Kind::kEpoch);
  sync.set(config, {"8"});
  EXPECT_EQ(config.workers.sync, (SyncRule{.kind = SyncRule::Kind::kEverySteps, .steps = 8}));
  sync.set(config, {"step"});
  EXPECT_EQ(config.workers.sync, SyncRule{});
  EXPECT_THROW(sync.set(config, {"0"}), ConfigError);
  EXPECT_THROW(sync.set(config, {"steps"}), ConfigError);
}

TEST(Schema, ReadsEpochsAsANumberOrAsAShareOfTheRun) {
  const Schema schema = make_schema();
  RunConfig config{.epochs = 8};
  key_at(schema, "partition.warmup").set(config, {"50%"});
  key_at(schema, "partition.interval").set(config, {"12.5%"});
  EXPECT_EQ(config.partition.warmup, Epochs::share(50));
  EXPECT_EQ(key_at(schema, "partition.interval").get(config), WrittenValue{"12.5%"});
  const RunConfig resolved = without_shares(config);
  EXPECT_EQ(resolved.partition.warmup, 4u);
  EXPECT_EQ(resolved.partition.interval, 1u);
  const std::string allowed = "; allowed: 0 to 1000000, or a share of the run: 50%";
  for (const std::string wrong : {"101%", "-1%", "%", "nan%", "50 %", "half", "1.5", "1000001"}) {
    EXPECT_EQ(error_of("partition.warmup", {wrong}),
              "'" + wrong + "' is not a number of epochs" + allowed);
  }
  EXPECT_EQ(error_of("eval.every", {"0%"}),
            "'0%' is not a number of epochs; allowed: 1 to 1000000, or a share of the run: 50%");
}

TEST(Schema, RoundsSharesToTheNearestEpochAndKeepsIntervalsAboveNever) {
  EXPECT_EQ(Epochs::share(50).of(3), 2u);
  EXPECT_EQ(Epochs::share(10).of(4), 0u);
  EXPECT_EQ(Epochs::share(10).of(5), 1u);
  EXPECT_EQ(Epochs::share(100).of(1'000'000), 1'000'000u);
  EXPECT_EQ(EpochInterval(Epochs::share(10)).of(4), 1u);
  EXPECT_EQ(EpochInterval(Epochs::share(0)).of(4), 0u);
  EXPECT_EQ(EpochInterval(7).of(4), 7u);
}

TEST(Schema, TakesNamesFromTheTables) {
  EXPECT_EQ(error_of("model.name", {"resnet-18"}),
            "unknown model 'resnet-18', did you mean 'resnet18'?");
  EXPECT_EQ(error_of("data.name", {"cifar"}), "unknown data set 'cifar', did you mean 'cifar10'?");
  EXPECT_EQ(error_of("data.tokenizer", {"bytes"}),
            "unknown tokenizer 'bytes', did you mean 'byte'?");
  EXPECT_EQ(error_of("data.augment", {"crop-flop"}),
            "unknown augmentation 'crop-flop', did you mean 'crop-flip'?");
}

TEST(Schema, TakesAnyNameOfAModelOrDataThatAProgramBringsAlong) {
  const Schema schema = make_schema({.model = true, .data = true});
  RunConfig config;
  key_at(schema, "model.name").set(config, {"my-net"});
  key_at(schema, "data.name").set(config, {"my-data"});
  EXPECT_EQ(config.model.name, "my-net");
  EXPECT_EQ(config.data.name, "my-data");
}

}  // namespace
}  // namespace impart::config
