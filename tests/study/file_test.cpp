#include <algorithm>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/study/arms.h"
#include "impart/study/spec.h"
#include "tests/support/temporary_folder.h"

namespace impart::study {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

const config::Schema& schema() {
  static const config::Schema made = config::make_schema();
  return made;
}

class StudyFile : public ::testing::Test {
 protected:
  StudySpec load(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return load_study(folder_.write("s.yaml", text), overrides, schema());
  }
  /// The message without the folder.
  std::string error(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::string message =
        message_of<ConfigError>([&] { plan_arms(load(text, overrides), schema()); });
    if (message.starts_with(folder_.path())) message.erase(0, folder_.path().size() + 1);
    return message;
  }
  std::vector<std::string> names(const std::string& text) {
    std::vector<std::string> found;
    for (const PlannedArm& arm : plan_arms(load(text), schema()).arms) found.push_back(arm.name);
    return found;
  }

  TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(StudyFile, ReadsArmsWithKeysNestedOrDotted) {
  const StudySpec spec = load(
      "name: x\nconfig: {epochs: 20, workers: {count: 2}}\n"
      "arms:\n  a: {baseline: true, partition: {heuristic: random, warmup: 0}}\n"
      "  b: {partition.warmup: 5}\n"
      "seeds: [3, 1]\nmetric: final_accuracy\ntarget: 80\njobs: 3\n");
  EXPECT_EQ(spec.config.epochs, 20u);
  EXPECT_EQ(spec.config.workers.count, 2u);
  EXPECT_EQ(spec.output, "studies/x");
  ASSERT_EQ(spec.arms.size(), 2u);
  EXPECT_TRUE(spec.arms[0].is_baseline);
  EXPECT_EQ(spec.arms[0].settings,
            (Settings{{"partition.heuristic", {"random"}}, {"partition.warmup", {"0"}}}));
  EXPECT_EQ(spec.arms[1].settings, (Settings{{"partition.warmup", {"5"}}}));
  EXPECT_EQ(spec.seeds, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(spec.metric, "final_accuracy");
  EXPECT_EQ(spec.target, 80);
  EXPECT_EQ(spec.jobs, 3u);
}

TEST_F(StudyFile, BuildsOnAPresetBesideIt) {
  folder_.write("p/base.yaml", "epochs: 7\nname: other\noutput: elsewhere\n");
  const StudySpec spec = load("base: p/base.yaml\narms: {a: }\nseeds: [1]\n");
  EXPECT_EQ(spec.config.epochs, 7u);
  EXPECT_EQ(spec.name, "s");
  EXPECT_EQ(spec.output, "studies/s");
}

TEST_F(StudyFile, NamesCombinationsByWhatDiffers) {
  EXPECT_EQ(
      names("config: {epochs: 50}\nseeds: [1]\n"
            "grid: {partition: {heuristic: [stripes, blocks], warmup: [5, 10], interval: 3}}"),
      (Names{"stripes warmup=5", "stripes warmup=10", "blocks warmup=5", "blocks warmup=10"}));
  EXPECT_EQ(names("seeds: [1]\ngrid: {optimizer.lr: [0.10, 0.2]}"), (Names{"lr=0.1", "lr=0.2"}));
  EXPECT_EQ(names("seeds: [1]\ngrid: {partition.heuristic: [stripes]}"), (Names{"stripes"}));
  EXPECT_EQ(names("seeds: [1]\narms: {stripes: {optimizer.lr: 0.3}}\n"
                  "grid: {partition.heuristic: [stripes, blocks]}"),
            (Names{"stripes", "heuristic=stripes", "heuristic=blocks"}));
  EXPECT_EQ(names("seeds: [1]\ngrid: {workers.batch: [8, 16], eval.batch: [8, 16]}"),
            (Names{"workers.batch=8 eval.batch=8", "workers.batch=8 eval.batch=16",
                   "workers.batch=16 eval.batch=8", "workers.batch=16 eval.batch=16"}));
}

TEST_F(StudyFile, ExpandsRangesAndSeveralGrids) {
  EXPECT_EQ(names("seeds: [1]\ngrid: {optimizer.lr: {from: 0.1, to: 0.5, step: 0.1}}"),
            (Names{"lr=0.1", "lr=0.2", "lr=0.3", "lr=0.4", "lr=0.5"}));
  EXPECT_EQ(names("seeds: [1]\nconfig: {epochs: 50}\n"
                  "grid: [{partition.warmup: {from: 4, to: 6}}, {partition.warmup: 9}]"),
            (Names{"warmup=4", "warmup=5", "warmup=6", "warmup=9"}));
}

TEST_F(StudyFile, ExclusionsDropCombinations) {
  EXPECT_EQ(
      names("seeds: [1]\nconfig: {epochs: 50}\n"
            "grid: {partition.heuristic: [stripes, blocks], partition.warmup: [5, 10, 15]}\n"
            "exclude: [{partition.heuristic: blocks, partition.warmup: [5, 15]}]"),
      (Names{"stripes warmup=5", "stripes warmup=10", "stripes warmup=15", "blocks warmup=10"}));
  EXPECT_EQ(error("seeds: [1]\ngrid: {optimizer.lr: [0.1, 0.2]}\nexclude: [{optimizer.lr: 0.3}]"),
            "s.yaml:3:11: exclude: no combination of the grid has these values");
}

TEST_F(StudyFile, DerivesSeedsThatDoNotCollide) {
  const StudySpec spec = load(
      "arms: {a: , b: {optimizer.lr: 0.3}}\nseeds: {count: 50, master: 7}\nsearch: halving\n"
      "config: {partition.warmup: 0, partition.heuristic: random}\n"
      "confirmation_seeds: {count: 50, master: 7}\n");
  std::vector<std::uint64_t> all = spec.seeds;
  all.insert(all.end(), spec.confirmation_seeds.begin(), spec.confirmation_seeds.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(spec.seeds, derive_seeds(7, 50, {}));
  EXPECT_NE(spec.seeds, derive_seeds(8, 50, {}));
}

TEST_F(StudyFile, ReadsSeedsThatGrow) {
  const StudySpec spec = load("arms: {a: }\nseeds: {until: 0.05, at_most: 200, master: 7}\n");
  EXPECT_EQ(spec.seeds, derive_seeds(7, 200, {}));
  ASSERT_TRUE(spec.growing);
  EXPECT_EQ(spec.growing->until, 0.05);
  EXPECT_EQ(spec.growing->at_least, 10u);
  EXPECT_EQ(load("arms: {a: }\nseeds: {until: 1, at_most: 6}\n").growing->at_least, 6u);
  EXPECT_FALSE(load("arms: {a: }\nseeds: {count: 6}\n").growing);
}

TEST_F(StudyFile, SaysWhatIsWrongWithSeedsThatGrow) {
  EXPECT_EQ(error("arms: {a: }\nseeds: {until: 0.05}\n"),
            "s.yaml:2:8: seeds: expected {until: 0.05, at_most: 200}");
  EXPECT_EQ(error("arms: {a: }\nseeds: {until: 0, at_most: 9}\n"),
            "s.yaml:2:16: seeds.until: '0' is out of range; allowed: more than 0");
  EXPECT_EQ(error("arms: {a: }\nseeds: {until: 1, at_most: 9, at_least: 10}\n"),
            "s.yaml:2:41: seeds.at_least: 10 is more than at_most, 9");
  EXPECT_EQ(error("arms: {a: }\nseeds: {until: 1, at_most: 9, count: 3}\n").substr(0, 41),
            "s.yaml:2:31: unknown key in seeds 'count'");
  EXPECT_EQ(error("arms: {a: }\nseeds: {until: 1, at_most: 9}\nsearch: halving\n"
                  "confirmation_seeds: [1]\n"),
            "s.yaml:2:8: seeds: until is for grids, not for search: halving");
}

TEST_F(StudyFile, SaysWhereWhatIsWrong) {
  EXPECT_EQ(error("seeds: [1]\narms: {a: }\nseed: 3\n"),
            "s.yaml:3:1: unknown key 'seed', did you mean 'seeds'?");
  EXPECT_EQ(error("seeds: [1]\narms:\n  a: {partition: {heuristik: blocks}}\n"),
            "s.yaml:3:19: unknown key 'heuristik' in partition, did you mean 'heuristic'?");
  EXPECT_EQ(
      error("seeds: [1]\narms:\n  a: {partition.heuristic: strips}\n"),
      "s.yaml:3:28: partition.heuristic: unknown heuristic 'strips', did you mean 'stripes'?");
  EXPECT_EQ(error("seeds: [1, 1]\narms: {a: }\n"), "s.yaml:1:12: seeds: 1 is there twice");
  EXPECT_EQ(error("seeds: [1]\ngrid: {seed: [1, 2]}\n"),
            "s.yaml:2:8: a study's seeds stand in 'seeds', the same for every arm");
  EXPECT_EQ(error("seeds: [1]\ngrid: {epochs: [1, 01]}\n"),
            "s.yaml:2:20: epochs: the same value twice");
  EXPECT_EQ(error("seeds: [1]\ngrid: {epochs: {from: 3, to: 1}}\n"),
            "s.yaml:2:16: epochs: steps of 1 do not lead from 3 to 1");
  EXPECT_EQ(error("seeds: [1]\narms: {a: {baseline: true}, b: {baseline: true}}\n"),
            "s.yaml:2:29: a second baseline; only one arm is it");
  EXPECT_EQ(error("seeds: [1]\narms: {\"a\\eb\": }\n"),
            "s.yaml:2:8: the name of an arm: the text has control characters or is not UTF-8; "
            "allowed: one line of text");
  EXPECT_EQ(error("seeds: [1]\narms: {a: }\nmetric: best_acuracy\n"),
            "s.yaml:3:9: metric: unknown metric 'best_acuracy', did you mean 'best_accuracy'?");
  EXPECT_EQ(error("seeds: [1]\narms: {a: }\nsearch: halving\nconfirmation_seeds: [2, 1]\n"),
            "s.yaml:4:25: confirmation_seeds: 1 is one of 'seeds'; a winner must be confirmed on "
            "seeds that did not choose it");
  EXPECT_EQ(error("seeds: [1]\nname: a/b\narms: {a: }\n").substr(0, 20), "s.yaml: name: 'a/b' ");
  EXPECT_EQ(error("arms: {a: }\n").substr(0, 30), "s.yaml:1:1: seeds are missing:");
  EXPECT_EQ(error("base: nowhere.yaml\nseeds: [1]\narms: {a: }\n").substr(0, 34),
            "s.yaml:1:7: base: there is no file");
  EXPECT_EQ(error("seeds: [1]\n"), "the study has no arms: give it 'arms' or a 'grid'");
}

TEST_F(StudyFile, ListsAllContradictionsAtOnceOrSkipsThem) {
  const std::string text =
      "seeds: [1]\nconfig: {epochs: 10}\ngrid: {partition.warmup: [5, 20, 30]}\n";
  const std::string message = error(text);
  EXPECT_NE(message.find("2 arms contradict themselves"), std::string::npos) << message;
  EXPECT_NE(message.find("\n  warmup=20: partition.warmup is 20, but epochs is 10"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("\n  warmup=30: "), std::string::npos) << message;
  const ArmPlan plan = plan_arms(load(text + "skip_invalid: true\n"), schema());
  ASSERT_EQ(plan.arms.size(), 1u);
  EXPECT_EQ(plan.arms[0].name, "warmup=5");
  EXPECT_EQ(plan.skipped.size(), 2u);
}

TEST_F(StudyFile, ArmsMayFixSingleStreams) {
  const ArmPlan plan =
      plan_arms(load("seeds: [1]\narms: {all: , order: {seed.init: 3}}\n"), schema());
  EXPECT_FALSE(plan.arms[0].config.seed_init);
  EXPECT_EQ(plan.arms[1].config.seed_init, 3u);
  EXPECT_EQ(names("seeds: [1]\ngrid: {seed.init: [3, 4]}\n"),
            (Names{"seed.init=3", "seed.init=4"}));
}

TEST_F(StudyFile, NamesTwoArmsThatAreTheSame) {
  EXPECT_EQ(error("seeds: [1]\narms: {a: {threads: 1}, b: {threads: 2}}\n"),
            "arms 'a' and 'b' are the same experiment: no setting that changes the result differs");
}

TEST(StudyNames, SlugsAreSafeAndUnique) {
  const Names names = {
      "Stripes warmup=5",    "stripes/warmup 5",   "../../etc", "<script>", "ü", "é",
      std::string(200, 'x'), std::string(201, 'x')};
  const auto slugs = make_slugs(names);
  EXPECT_EQ(Names(slugs.begin(), slugs.begin() + 6),
            (Names{"stripes-warmup-5", "stripes-warmup-5-2", "etc", "script", "arm", "arm-2"}));
  EXPECT_NE(slugs[6], slugs[7]);
  for (const std::string& slug : slugs) {
    EXPECT_LE(slug.size(), 60u);
    EXPECT_EQ(slug.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  }
}

}  // namespace
}  // namespace impart::study
