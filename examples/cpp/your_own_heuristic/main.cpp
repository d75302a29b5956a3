// A heuristic of your own is one function. This program deals two neighbours of the ranking to each
// worker at a time, asks impart's contract whether that is a heuristic, and trains with it:
//   your_own_heuristic epochs=6 partition.sticky=true workers.count=8
// Every key of `impart train --keys` can be changed, and `mpirun -n 2` works, too.

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/impart.h"
#include "impart/train/run.h"

namespace {

using namespace impart;

Partition deal_in_double_stripes(const Scores& importance, const PartitionSpec& spec) {
  check_spec(importance, spec);
  std::vector<WorkerId> owners(importance.size());
  const std::uint64_t whole_rounds = importance.size() / (2 * spec.workers) * (2 * spec.workers);
  std::uint64_t rank = 0;
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    for (const ExampleId id : run) {
      // The rest that makes no round of pairs is dealt one by one, or sizes would differ by 2.
      const std::uint64_t turn = rank < whole_rounds ? rank / 2 : rank;
      owners[index(id)] = WorkerId{static_cast<std::uint32_t>(turn % spec.workers)};
      ++rank;
    }
  });
  return {std::move(owners), spec.workers};
}

/// The row that makes it known under a name.
const OwnRows kOwn{.heuristics = {{{"double-stripes", "two neighbours of the ranking at a time",
                                    deal_in_double_stripes}}}};

/// A small run on the built-in pictures, changed by what the user typed.
config::RunConfig make_config(int argc, char** argv) {
  std::vector<std::string> settings = {
      "name=double-stripes",       "epochs=6",
      "data.name=shapes",          "data.train_examples=2000",
      "data.test_examples=500",    "data.augment=none",
      "model.name=small-cnn",      "workers.batch=16",
      "optimizer.lr=0.2",          "optimizer.schedule=cosine",
      "optimizer.warmup_epochs=1", "partition.heuristic=double-stripes",
      "partition.warmup=3",        "partition.interval=1"};
  settings.insert(settings.end(), argv + 1, argv + argc);
  return config::load_config(std::nullopt, settings, {.rows = kOwn});
}

void print_epoch(const train::EpochReport& epoch) {
  std::printf("epoch %u: test accuracy %.1f %%%s%s\n", epoch.epoch + 1,
              epoch.test_accuracy.value_or(0),
              epoch.event.empty() ? "" : ", partition: ", epoch.event.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> breaches = find_breaches(deal_in_double_stripes);
  for (const std::string& breach : breaches) std::fprintf(stderr, "%s\n", breach.c_str());
  if (!breaches.empty()) return 1;

  const config::RunConfig config = make_config(argc, argv);
  const auto communicator = comm::make_communicator();
  if (communicator->rank() == 0) std::printf("the heuristic keeps the contract\n");
  const train::RunOutcome outcome = comm::run_job(*communicator, [&] {
    return train::run_training({.config = config,
                                .config_text = config::to_yaml(config),
                                .config_hash = config::config_hash(config),
                                .overwrite = true,
                                .own = kOwn},
                               *communicator, {.epoch = print_epoch});
  });
  if (communicator->rank() == 0) {
    std::printf("best accuracy %.1f %%, %llu examples moved, run directory %s\n",
                outcome.summary.best_accuracy.value_or(0),
                static_cast<unsigned long long>(outcome.summary.examples_moved),
                config.output.c_str());
  }
  return 0;
} catch (const impart::Error& error) {
  std::fprintf(stderr, "your_own_heuristic: %s\n", error.what());
  return 1;
}
