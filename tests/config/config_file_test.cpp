#include "impart/config/config_file.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/config/config_text.h"
#include "impart/core/random.h"
#include "tests/config/messages.h"
#include "tests/support/temporary_folder.h"

namespace impart::config {
namespace {

using testing::config_error;
using testing::TemporaryFolder;

/// The error for a file of this text, with the folder cut off: "c.yaml:1:1: …"
std::string error_in(std::string_view yaml) {
  const TemporaryFolder folder;
  const std::string path = folder.write("c.yaml", yaml);
  const std::string error = config_error([&] { load_config(path, {}, {}); });
  const std::string prefix = folder.path() + "/";
  return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
}

RunConfig read(std::string_view yaml, std::vector<std::string> overrides = {}) {
  const TemporaryFolder folder;
  return load_config(folder.write("c.yaml", yaml), overrides, {});
}

std::string error_of_override(const std::string& text) {
  return config_error([&] { load_config({}, std::vector{text}, {}); });
}

TEST(ConfigFile, WithoutFileAndOverridesGivesTheDefaultsWithTheRunDirectory) {
  RunConfig expected;
  expected.output = "runs/run-1";
  EXPECT_EQ(load_config({}, {}, {}), expected);
  EXPECT_EQ(read(""), expected);
  EXPECT_EQ(read("# only a comment\n"), expected);
  EXPECT_EQ(read("---\n"), expected);
  EXPECT_EQ(read("data:\n  # root: data\n"), expected);
}

TEST(ConfigFile, ReadsTheExampleOfTheDesign) {
  const RunConfig config = read(R"(
name: dais-cifar10-resnet18-stripes
seed: 17611
epochs: 100
device: auto            # auto | cpu | cuda
precision: fp32         # fp32 | tf32 | bf16
data:       {name: cifar10, root: data/cifar10, augment: crop-flip}
model:      {name: resnet18, stem: imagenet}
workers:    {count: 4, batch: 256, sync: step, batch_norm: worker, running_stats: mean, uneven: weight, shuffle: per-worker, reduce: fast}
optimizer:  {name: sgd, lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 5e-4, schedule: constant}
importance: {notion: loss-variance, ignore: 5}
partition:  {heuristic: stripes, warmup: 20, interval: 30, sticky: false}
exchange:   {strategy: none, fraction: 0.1}
store:      {kind: replicated}
eval:       {protocol: clean}
checkpoint: {every: 1, keep: 2}
output: runs/{name}-{seed}
)");
  EXPECT_EQ(config.seed, 17611u);
  EXPECT_EQ(config.data.root, "data/cifar10");
  EXPECT_EQ(config.optimizer.weight_decay, 5e-4);
  EXPECT_EQ(config.partition.interval, 30u);
  EXPECT_EQ(config.output, "runs/dais-cifar10-resnet18-stripes-17611");
}

TEST(ConfigFile, NamesTheNearestKeyAndWhereTheWrongOneStands) {
  EXPECT_EQ(error_in("epochs: 10\npartition:\n  heuristik: stripes\n"),
            "c.yaml:3:3: unknown key 'heuristik' in partition, did you mean 'heuristic'?");
  EXPECT_EQ(error_in("epoch: 10\n"), "c.yaml:1:1: unknown key 'epoch', did you mean 'epochs'?");
  EXPECT_EQ(error_in("wrokers: {count: 2}\n"),
            "c.yaml:1:1: unknown key 'wrokers', did you mean 'workers'?");
  EXPECT_EQ(error_in("heuristic: stripes\n"),
            "c.yaml:1:1: unknown key 'heuristic', did you mean 'partition.heuristic'?");
  EXPECT_EQ(error_in("store: {folder: x}\n"),
            "c.yaml:1:9: unknown key 'folder' in store; there are: kind, files, cache, "
            "cache_policy, cache_path, cache_disk, cooperative, move_from, path, prefetch");
}

TEST(ConfigFile, SaysWhereAWrongValueStandsAndWhatIsAllowed) {
  EXPECT_EQ(error_in("workers:\n  count: many\n"),
            "c.yaml:2:10: workers.count: 'many' is not a whole number; allowed: 1 to 1048576");
  EXPECT_EQ(error_in("workers: {count: 0}\n"),
            "c.yaml:1:18: workers.count: '0' is out of range; allowed: 1 to 1048576");
  EXPECT_EQ(error_in("device: gpu\n"),
            "c.yaml:1:9: device: unknown device 'gpu'; there are: auto, cpu, cuda");
  EXPECT_EQ(error_in("epochs: [1, 2]\n"),
            "c.yaml:1:9: epochs: found a list; allowed: 1 to 1000000");
  EXPECT_EQ(error_in("epochs: {a: 2}\n"),
            "c.yaml:1:9: epochs: found a section; allowed: 1 to 1000000");
  EXPECT_EQ(error_in("seed:\nepochs: 3\n"), "c.yaml:1:1: seed has no value");
  EXPECT_EQ(error_in("data:\n  root: ~\n"), "c.yaml:2:3: root has no value");
  EXPECT_EQ(error_in("store: partitioned\n"),
            "c.yaml:1:8: store is a section with the keys kind, files, cache, "
            "cache_policy, cache_path, cache_disk, cooperative, move_from, path, prefetch");
}

TEST(ConfigFile, RefusesWhatIsNoConfiguration) {
  EXPECT_EQ(error_in("seed: 1\nseed: 2\n"), "c.yaml:2:1: key 'seed' is there twice");
  EXPECT_EQ(error_in("data:\n  name: a\n  name: b\n"), "c.yaml:3:3: key 'name' is there twice");
  EXPECT_EQ(error_in("data: {name: a}\ndata: {name: b}\n"),
            "c.yaml:2:1: key 'data' is there twice");
  EXPECT_EQ(error_in("- 1\n"), "c.yaml:1:1: expected keys and values, as in 'epochs: 10'");
  EXPECT_EQ(error_in("[1]: 2\n"), "c.yaml:1:1: a key must be a word");
  EXPECT_TRUE(error_in("a: [1\n").starts_with("c.yaml:2:1: not valid YAML: "))
      << error_in("a: [1\n");
  EXPECT_TRUE(error_in("x: \"a\nb: c\n").starts_with("c.yaml:")) << error_in("x: \"a\nb: c\n");
  EXPECT_EQ(error_in("seed: 1\n---\nseed: 2\n"),
            "c.yaml:2:1: a second document; expected only one");
  const TemporaryFolder folder;
  EXPECT_EQ(config_error([&] { load_config(folder / "none.yaml", {}, {}); }),
            folder / "none.yaml" + ": cannot open: No such file or directory");
  EXPECT_NE(config_error([&] { load_config(folder.path(), {}, {}); }), "");
}

TEST(ConfigFile, EndsWhereAParserWouldGoOnForEver) {
  // yaml-cpp finds empty documents without end before a comma.
  EXPECT_EQ(error_in(", "), "c.yaml:1:1: not valid YAML: this belongs to nothing before it");
  EXPECT_TRUE(error_in(std::string(100'000, '[')).ends_with(": nested deeper than 32 levels"));
  EXPECT_TRUE(
      error_in(std::string((1 << 20) + 1, '#')).starts_with("c.yaml: 1048577 bytes are no"));
}

TEST(ConfigFile, CountsWhatAliasesStandFor) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    laughs += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_NE(error_in(laughs).find("over 100000 values"), std::string::npos) << error_in(laughs);
  EXPECT_NE(error_in("data: &a [*a]\n").find("an alias inside of what it stands for"),
            std::string::npos);
  EXPECT_EQ(read("seed: &s 5\nepochs: *s\n").epochs, 5u);
}

TEST(ConfigFile, ReadsListsAsSequenceOrAsOneName) {
  const std::vector<std::string> two = {"el2n", "margin"};
  EXPECT_EQ(read("importance: {record: [el2n, margin]}").importance.record, two);
  EXPECT_EQ(read("importance: {record: []}").importance.record, std::vector<std::string>{});
  EXPECT_EQ(read("importance: {record: el2n}").importance.record, std::vector<std::string>{"el2n"});
  EXPECT_EQ(read("data: {text_column: [title, body]}").data.text_column, "title,body");
  EXPECT_EQ(read("data: {text_column: title}").data.text_column, "title");
  EXPECT_EQ(read("", {"data.text_column=[title, body]"}).data.text_column, "title,body");
  EXPECT_EQ(error_in("importance: {record: [el2n, el3n]}\n"),
            "c.yaml:1:22: importance.record: unknown notion 'el3n', did you mean 'el2n'?");
}

TEST(ConfigFile, OverridesWinOverTheFileAndTheLastOneWins) {
  const RunConfig config =
      read("seed: 5\nworkers: {count: 2, batch: 8}",
           {"workers.count=8", "name=x", "importance.record=[el2n, margin]", "seed=6", "seed=7"});
  EXPECT_EQ(config.workers.count, 8u);
  EXPECT_EQ(config.workers.batch, 8u);
  EXPECT_EQ(config.output, "runs/x-7");
  EXPECT_EQ(config.importance.record, (std::vector<std::string>{"el2n", "margin"}));
  EXPECT_EQ(read("", {"importance.record=el2n,margin"}).importance.record,
            config.importance.record);
  EXPECT_EQ(read("importance: {record: [el2n]}", {"importance.record="}).importance.record,
            std::vector<std::string>{});
  EXPECT_EQ(read("", {"data.root=/a=b c"}).data.root, "/a=b c");
}

TEST(ConfigFile, ErrorsOfOverridesNameTheArgument) {
  EXPECT_EQ(error_of_override("workers.count=abc"),
            "override 'workers.count=abc': 'abc' is not a whole number; allowed: 1 to 1048576");
  EXPECT_EQ(error_of_override("partition.heuristik=stripes"),
            "override 'partition.heuristik=stripes': unknown key 'heuristik' in partition, did you "
            "mean 'heuristic'?");
  EXPECT_EQ(error_of_override("partitoin.warmup=2"),
            "override 'partitoin.warmup=2': unknown key 'partitoin', did you mean 'partition'?");
  EXPECT_EQ(error_of_override("interval=2"),
            "override 'interval=2': unknown key 'interval', did you mean 'partition.interval'?");
  EXPECT_EQ(error_of_override("store=partitioned"),
            "override 'store=partitioned': store is a section with the keys kind, files, cache, "
            "cache_policy, cache_path, cache_disk, cooperative, move_from, path, prefetch");
  EXPECT_EQ(error_of_override("epochs"), "override 'epochs': expected key=value");
  EXPECT_TRUE(error_of_override("=3").starts_with("override '=3': unknown key ''"));
}

TEST(ConfigFile, BuildsOnItsBaseRelativeToItsOwnFolder) {
  const TemporaryFolder folder;
  folder.write("common/far.yaml", "name: far\nseed: 1\nworkers: {count: 2, batch: 16}\n");
  folder.write("common/near.yaml", "base: far.yaml\nseed: 2\n");
  const std::string path =
      folder.write("runs/run.yaml", "workers: {batch: 32}\nbase: ../common/near.yaml\n");
  const RunConfig config = load_config(path, {}, {});
  EXPECT_EQ(config.name, "far");
  EXPECT_EQ(config.seed, 2u);
  EXPECT_EQ(config.workers.count, 2u);
  EXPECT_EQ(config.workers.batch, 32u);
}

TEST(ConfigFile, ErrorsInABaseNameTheBase) {
  const TemporaryFolder folder;
  const std::string base = folder.write("base.yaml", "sede: 1\n");
  const std::string path = folder.write("run.yaml", "base: base.yaml\n");
  EXPECT_EQ(config_error([&] { load_config(path, {}, {}); }),
            base + ":1:1: unknown key 'sede', did you mean 'seed'?");
}

TEST(ConfigFile, FindsBasesThatAreMissingOrBuildOnThemselves) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.yaml", "base: b.yaml\n");
  EXPECT_EQ(config_error([&] { load_config(a, {}, {}); }),
            a + ":1:7: base: there is no file " + folder / "b.yaml");
  const std::string b = folder.write("b.yaml", "epochs: 3\nbase: a.yaml\n");
  EXPECT_EQ(config_error([&] { load_config(a, {}, {}); }),
            b + ":2:7: base: " + a + " builds on itself");
  EXPECT_EQ(error_in("base: [x]\n"), "c.yaml:1:7: base: expected the path of a file");
}

TEST(ConfigFile, TwoFilesMayShareABase) {
  const TemporaryFolder folder;
  folder.write("base.yaml", "seed: 9\n");
  const std::string a = folder.write("a.yaml", "base: base.yaml\n");
  const std::string b = folder.write("b.yaml", "base: base.yaml\n");
  EXPECT_EQ(load_config(a, {}, {}), load_config(b, {}, {}));
}

TEST(ConfigFile, AnswersDamagedFilesWithConfigErrorsOnly) {
  const TemporaryFolder folder;
  const std::string good = to_yaml(RunConfig{});
  RandomStream random({.seed = 7, .purpose = Purpose("test")});
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string damaged = good;
    for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const std::size_t at = random.below(damaged.size());
      const std::string_view odd = ":-[]{}#&*!|>'\"%@`,?\t\n 0a~\\";
      damaged[at] = random.below(8) == 0 ? static_cast<char>(random.below(256))
                                         : odd[random.below(odd.size())];
    }
    const std::string path = folder.write("c.yaml", damaged);
    try {
      load_config(path, {}, {});
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

}  // namespace
}  // namespace impart::config
