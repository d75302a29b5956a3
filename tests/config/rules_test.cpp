#include "impart/config/rules.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/config/config_file.h"
#include "impart/config/config_keys.h"
#include "impart/config/model_names.h"
#include "impart/data/datasets.h"
#include "tests/config/messages.h"

namespace impart::config {
namespace {

using Overrides = std::vector<std::string>;

/// Two situations near to each other: one breaks the rule, the other does not.
struct Example {
  Overrides broken, kept;
  Facts broken_facts = {}, kept_facts = {};
};

const Facts kTwoProcesses{.processes = 2};
const Facts kNoGpu{.has_gpu = false};
const Facts kPlainCpu{.cpu_has_bf16 = false};
const Facts kHalfCpu{.cpu_has_bf16 = true};
const Facts kImages{.data = DataFacts{.examples = 50, .input = data::Input::kImages}};
const Facts kTruth{.data =
                       DataFacts{.examples = 50, .input = data::Input::kImages, .has_truth = true}};
const Facts kTensors{.own = {.model = true, .data = true},
                     .data = DataFacts{.examples = 50, .is_tensors = true}};
const Facts kTensorsOnly{.own = {.data = true},
                         .data = DataFacts{.examples = 50, .is_tensors = true}};

const Overrides kLocal = {"exchange.strategy=is-pair", "partition.heuristic=random",
                          "partition.warmup=0", "partition.interval=0"};

Overrides local_and(const Overrides& more) {
  Overrides all = kLocal;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::map<std::string_view, Example> kExamples = {
    {"name-is-given", {{"name="}, {"name=a"}}},
    {"name-in-paths", {{"name=a/b"}, {"name=a-b"}}},
    {"output-is-given", {{"output="}, {"output=runs"}}},
    {"output-placeholders", {{"output=runs/{date}"}, {"output=runs/{seed}/{name}"}}},
    {"precision-of-cpu", {{"precision=tf32", "device=cpu"}, {"precision=bf16", "device=cpu"}}},
    {"bf16-of-cpu",
     {{"precision=bf16", "device=cpu"}, {"precision=bf16", "device=cpu"}, kPlainCpu, kHalfCpu}},
    {"transport-of-cpu", {{"workers.transport=nccl"}, {"workers.transport=mpi"}, kNoGpu, kNoGpu}},
    {"device-is-there", {{"device=cuda"}, {"device=auto"}, kNoGpu, kNoGpu}},
    {"mirrors-show-images",
     {{"eval.mirror=true", "data.name=text", "model.name=gpt-mini"},
      {"eval.mirror=true", "data.name=cifar10"}}},
    {"coarse-classes",
     {{"data.coarse=true", "data.name=cifar10"}, {"data.coarse=true", "data.name=cifar100"}}},
    {"texts-with-classes",
     {{"data.name=table", "model.name=text-encoder"},
      {"data.name=table", "model.name=text-encoder", "data.label_column=label"}}},
    {"model-of-data",
     {{"data.name=cifar10", "model.name=gpt-mini"}, {"data.name=text", "model.name=gpt-mini"}}},
    {"model-of-tensors", {{}, {}, kTensorsOnly, kTensors}},
    {"held-out-blocks-are-unseen",
     {{"data.name=text", "model.name=gpt-mini", "data.validation=0.1", "data.stride=64"},
      {"data.name=text", "model.name=gpt-mini", "data.validation=0.1"}}},
    {"dropout",
     {{"model.dropout=0.1"}, {"model.dropout=0.1", "model.name=lstm", "data.name=generated"}}},
    {"workers-have-examples", {{"workers.count=51"}, {"workers.count=50"}, kImages, kImages}},
    {"processes-have-workers",
     {{"workers.count=1"}, {"workers.count=2"}, kTwoProcesses, kTwoProcesses}},
    {"batch-norm-of-one-model",
     {{"workers.batch_norm=shared", "workers.sync=epoch"},
      {"workers.batch_norm=worker", "workers.sync=epoch"}}},
    {"outer-of-models",
     {{"workers.outer=nesterov"}, {"workers.outer=nesterov", "workers.sync=50"}}},
    {"outer-rates",
     {{"workers.sync=50", "workers.outer_lr=0.5"},
      {"workers.sync=50", "workers.outer_lr=0.5", "workers.outer=slowmo"}}},
    {"models-come-apart",
     {{"workers.sync=50", "workers.sync_start=10", "epochs=10"},
      {"workers.sync=50", "workers.sync_start=9", "epochs=10"}}},
    {"overlap-of-steps",
     {{"workers.sync=epoch", "workers.outer_overlap=true"},
      {"workers.sync=50", "workers.outer_overlap=true"}}},
    {"norm", {{"model.norm=group", "model.name=mlp"}, {"model.norm=group"}}},
    {"batch-norm-over-gpus",
     {{"workers.batch_norm=shared", "device=cuda"},
      {"workers.batch_norm=2", "device=cuda"},
      kTwoProcesses,
      kTwoProcesses}},
    {"batch-norm-exactly",
     {{"workers.batch_norm=2", "workers.reduce=exact", "device=cuda"},
      {"workers.batch_norm=2", "workers.reduce=exact", "device=cpu"}}},
    {"stop-by-a-result-of-the-task", {{"stop.at=perplexity <= 30"}, {"stop.at=accuracy >= 82"}}},
    {"transport-of-steps",
     {{"workers.transport=nccl"},
      {"workers.transport=nccl"},
      {.updates_on_device = false},
      {.updates_on_device = true}}},
    {"nesterov", {{"optimizer.momentum=0"}, {"optimizer.momentum=0", "optimizer.nesterov=false"}}},
    {"learning-rate-warm-up", {{"optimizer.warmup_epochs=11"}, {"optimizer.warmup_epochs=10"}}},
    {"root-on-server",
     {{"data.root=https://host/x", "data.name=cifar10"},
      {"data.root=https://host/x", "data.name=mds"}}},
    {"secrets-in-root",
     {{"data.root=https://me:secret@host/x", "data.name=mds"},
      {"data.root=https://host/x@y", "data.name=mds"}}},
    {"files-of-parts", {{"store.files=true", "store.kind=partitioned"}, {"store.files=true"}}},
    {"cache-of-parts",
     {{"store.cache_policy=pin", "store.kind=partitioned"},
      {"store.cache_policy=pin", "store.kind=replicated"}}},
    {"cache-on-disk",
     {{"store.cache_path=cache"}, {"store.cache_path=cache", "store.cache_disk=100"}}},
    {"cache-without-room",
     {{"store.cache_policy=pin", "store.cache=0"},
      {"store.cache_policy=pin", "store.cache=0", "store.cache_path=x", "store.cache_disk=1"}}},
    {"cooperating-caches",
     {{"store.cooperative=true"}, {"store.cooperative=true", "store.cache_policy=importance"}}},
    {"path-of-parts", {{"store.path=parts"}, {"store.path=parts", "store.kind=partitioned"}}},
    {"path-placeholders",
     {{"store.path={host}", "store.kind=partitioned"},
      {"store.path={name}", "store.kind=partitioned"}}},
    {"files-of-text",
     {{"store.files=true", "data.name=text", "model.name=lstm"},
      {"store.files=true", "data.name=cifar10"}}},
    {"store-of-tensors", {{"store.kind=partitioned"}, {}, kTensors, kTensors}},
    {"partition-warm-up", {{"partition.warmup=11"}, {"partition.warmup=10"}}},
    {"schedule", {{"importance.ignore=3"}, {"importance.ignore=2"}}},
    {"labels-of-heuristic",
     {{"partition.heuristic=class-stripes", "data.name=text", "model.name=lstm"},
      {"partition.heuristic=class-stripes"}}},
    {"labels-of-start",
     {{"partition.start=by-class", "data.name=text", "model.name=gpt-mini"},
      {"partition.start=contiguous", "data.name=text", "model.name=gpt-mini"}}},
    {"file-of-start",
     {{"partition.start=file"}, {"partition.start=file", "partition.start_file=owners.csv"}}},
    {"truth-of-notion",
     {{"importance.record=truth"}, {"importance.record=truth"}, kImages, kTruth}},
    {"exchange-of-workers", {local_and({"workers.count=1"}), local_and({"workers.count=2"})}},
    {"exchange-of-something",
     {local_and({"exchange.fraction=0"}), local_and({"exchange.fraction=0.01"})}},
    {"exchange-happens",
     {local_and({"partition.interval=1"}), local_and({"partition.interval=2"})}},
    {"exchange-by-importance",
     {local_and({"exchange.strategy=balance-pair"}),
      local_and({"exchange.strategy=balance-pair", "importance.ignore=0"})}},
    {"selection-of-parts",
     {{"selection.strategy=infobatch", "workers.uneven=pad"},
      {"selection.strategy=infobatch", "workers.uneven=weight"}}},
    {"selection-of-something",
     {{"selection.strategy=random", "selection.final=10", "epochs=10"},
      {"selection.strategy=random", "selection.final=9", "epochs=10"}}},
    {"prune-happens",
     {{"selection.strategy=prune", "selection.after=10", "epochs=10"},
      {"selection.strategy=prune", "selection.after=9", "epochs=10"}}},
    {"selection-by-knowledge",
     {{"selection.strategy=infobatch", "selection.final=3", "epochs=4"},
      {"selection.strategy=infobatch", "selection.final=2", "epochs=4"}}},
    {"prune-by-knowledge",
     {{"selection.strategy=prune", "selection.after=2", "importance.ignore=2"},
      {"selection.strategy=prune", "selection.after=3", "importance.ignore=2"}}},
    {"curriculum-by-knowledge",
     {{"selection.strategy=curriculum", "selection.ramp=2", "importance.ignore=1"},
      {"selection.strategy=curriculum", "selection.ramp=3", "importance.ignore=1"}}},
    {"learning-rate-of-hidden",
     {{"selection.strategy=infobatch", "selection.lr=scale"},
      {"selection.strategy=kakurenbo", "selection.lr=scale"}}},
};

RunConfig make_config(const Overrides& overrides, const OwnParts& own) {
  const Schema schema = make_schema(own);
  RunConfig config;
  for (const std::string& text : overrides) apply_override(schema, text, config);
  return config;
}

std::string broken_rule(const Overrides& overrides, const Facts& facts) {
  const Rule* broken = find_broken_rule(make_config(overrides, facts.own), facts);
  return broken == nullptr ? "" : std::string(broken->name);
}

TEST(Rules, HaveAnExampleThatBreaksThemAndOneThatDoesNot) {
  for (const Rule& rule : all_rules()) {
    const auto found = kExamples.find(rule.name);
    ASSERT_NE(found, kExamples.end()) << "no example for the rule " << rule.name;
    const Example& example = found->second;
    EXPECT_EQ(broken_rule(example.broken, example.broken_facts), rule.name);
    EXPECT_EQ(broken_rule(example.kept, example.kept_facts), "") << "near to " << rule.name;
  }
  EXPECT_EQ(kExamples.size(), all_rules().size());
}

TEST(Rules, NameKeysThatThereAreInMessagesOfOneSentence) {
  const Schema schema = make_schema();
  for (const Rule& rule : all_rules()) {
    const Example& example = kExamples.at(rule.name);
    const RunConfig config = make_config(example.broken, example.broken_facts.own);
    const std::string message = rule.message({config, example.broken_facts});
    bool names_a_key = false;
    for (const std::string_view key : rule.keys) {
      if (key.empty()) continue;
      EXPECT_NO_THROW(key_at(schema, key)) << rule.name;
      names_a_key = names_a_key || message.find(key) != std::string::npos;
    }
    EXPECT_TRUE(names_a_key) << rule.name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Rules, WaitForTheFactsTheyNeed) {
  for (const Rule& rule : all_rules()) {
    const Example& example = kExamples.at(rule.name);
    if (example.broken != example.kept) continue;  // the configuration decides
    const Facts nothing{.own = example.broken_facts.own};
    EXPECT_EQ(broken_rule(example.broken, nothing), "") << rule.name;
  }
}

TEST(Rules, KnowWhenASelectionKnowsNothing) {
  const auto broken = [](const std::string& strategy, const std::string& notion,
                         Overrides more = {}) {
    more.insert(more.end(), {"selection.strategy=" + strategy, "importance.notion=" + notion,
                             "importance.ignore=1", "epochs=10", "partition.heuristic=random"});
    return broken_rule(more, kTruth);
  };
  // Before the first epoch only what needs no visits is known.
  EXPECT_EQ(broken("prune", "loss-average", {"selection.after=0"}), "prune-by-knowledge");
  EXPECT_EQ(broken("prune", "loss-last", {"selection.after=0"}), "prune-by-knowledge");
  EXPECT_EQ(broken("prune", "random", {"selection.after=0"}), "");
  EXPECT_EQ(broken("prune", "truth", {"selection.after=0"}), "");
  // Epochs that are ignored count for notions of the whole run.
  EXPECT_EQ(broken("prune", "loss-average", {"selection.after=1"}), "prune-by-knowledge");
  EXPECT_EQ(broken("prune", "forgetting", {"selection.after=1"}), "");
  // Epochs at the end of the run visit everything.
  EXPECT_EQ(broken("prune", "loss-average", {"selection.after=5", "selection.final=5"}),
            "prune-happens");
  EXPECT_EQ(broken("infobatch", "loss-average", {"selection.final=9"}), "selection-by-knowledge");
  EXPECT_EQ(broken("infobatch", "loss-average", {"selection.final=8"}), "");
  EXPECT_EQ(broken("random", "loss-average", {"selection.final=9"}), "");
  EXPECT_EQ(broken("sampling", "loss-average", {"selection.final=8"}), "selection-by-knowledge");
  EXPECT_EQ(broken("sampling", "loss-average", {"selection.final=7"}), "");
}

TEST(Rules, SayWhatASelectionWouldHaveToKnow) {
  const auto message = [](const Overrides& overrides) {
    return testing::config_error([&] { validate(make_config(overrides, {})); });
  };
  EXPECT_EQ(message({"selection.strategy=prune", "selection.after=0", "importance.ignore=0"}),
            "selection.after is 0, but nothing is known of any example before epoch 2: nothing "
            "would be pruned; let it be 1 or more");
  EXPECT_EQ(message({"selection.strategy=prune", "selection.after=2", "importance.ignore=2"}),
            "selection.after is 2, but importance.ignore is 2, and so nothing is known before "
            "epoch 4: nothing would be pruned; let it be 3 or more");
}

TEST(Rules, AreTheSameForPlansAndRuns) {
  RunConfig config;
  config.device = RunConfig::Device::kCpu;
  config.precision = RunConfig::Precision::kTf32;
  const std::string refusal = testing::config_error([&] { validate(config); });
  EXPECT_EQ(refusal, "precision: tf32 is for NVIDIA GPUs; on the CPU take bf16 or fp32");
  EXPECT_EQ(testing::config_error([&] { check_rules(config, {.has_gpu = true, .processes = 2}); }),
            refusal);
  config = RunConfig{};
  config.data.name = "cifar10";
  config.model.name = "gpt-mini";
  EXPECT_EQ(testing::config_error([&] { validate(config); }),
            "model.name: gpt-mini is for language, but data.name: cifar10 is images");
}

TEST(Rules, JudgeBfloat16ByTheCpuThatTrains) {
  RunConfig config;
  config.precision = RunConfig::Precision::kBf16;
  const std::string refusal =
      "precision: bf16, but this machine's CPU does not multiply bfloat16 (neither AVX-512 BF16 "
      "nor "
      "AMX), and would be slower with it; take fp32";
  for (const auto device : {RunConfig::Device::kCpu, RunConfig::Device::kAuto}) {
    config.device = device;
    // Where it will run is not known here.
    EXPECT_NO_THROW(validate(config));
    EXPECT_NO_THROW(check_rules(config, {.has_gpu = false, .cpu_has_bf16 = true}));
    EXPECT_EQ(testing::config_error(
                  [&] { check_rules(config, {.has_gpu = false, .cpu_has_bf16 = false}); }),
              refusal);
  }
  // A GPU does it, whatever the CPU can.
  EXPECT_NO_THROW(check_rules(config, {.has_gpu = true, .cpu_has_bf16 = false}));
}

TEST(Rules, JudgeNamesOfAProgramsOwnOnlyByWhatIsLoaded) {
  RunConfig config;
  config.data.name = "spirals";
  config.model.name = "spiral-net";
  EXPECT_NE(testing::config_error([&] { validate(config); }), "");
  EXPECT_NO_THROW(validate(config, {.model = true, .data = true}));
  config.model.name = "mlp";
  EXPECT_NO_THROW(validate(config, {.data = true}));
  EXPECT_EQ(broken_rule({"data.name=spirals", "model.name=mlp"},
                        {.own = {.data = true},
                         .data = DataFacts{.examples = 9, .input = data::Input::kTokens}}),
            "model-of-data");
}

TEST(Rules, KnowWhatEveryDataSetIs) {
  for (const data::DatasetEntry& row : data::kDatasets) {
    const auto kind = find_data_kind({.name = std::string(row.name)});
    ASSERT_TRUE(kind) << row.name;
    EXPECT_EQ(kind->input, row.input) << row.name;
    EXPECT_EQ(kind->task, row.input == data::Input::kImages ? data::kClasses : data::kLanguage)
        << row.name;
  }
  EXPECT_EQ(find_data_kind({.name = "table", .label_column = "label"})->task, data::kClasses);
}

}  // namespace
}  // namespace impart::config
