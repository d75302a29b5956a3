#include <string>

#include <fmt/format.h>

#include "impart/config/rules/rules_by_topic.h"
#include "impart/config/rules/situation.h"
#include "impart/config/value_rules.h"
#include "impart/placement/norm_groups.h"

namespace impart::config {
namespace {

bool synchronises_steps(const Situation& s) {
  return s.config.workers.sync.kind == SyncRule::Kind::kStep;
}

/// The first key that is set and only matters where models differ; "" if none is.
std::string key_of_models(const Situation& s) {
  const WorkersConfig& workers = s.config.workers;
  if (workers.outer != placement::kPlainOuter) return "workers.outer: " + workers.outer;
  if (workers.sync_start.of(s.config.epochs) > 0) return "workers.sync_start";
  if (workers.outer_overlap) return "workers.outer_overlap: true";
  return s.config.eval.workers ? "eval.workers: true" : "";
}

/// Whether it is known that the run computes on a GPU.
bool is_on_gpu(const Situation& s) {
  return s.config.device == RunConfig::Device::kCuda ||
         (s.config.device == RunConfig::Device::kAuto && s.facts.has_gpu.value_or(false));
}

bool shares_batch_norm(const Situation& s) {
  return s.config.workers.norm_group() > 1;
}

constexpr Rule kWorkerRules[] = {
    {"workers-have-examples",
     {"workers.count"},
     [](const Situation& s) {
       return s.facts.data && s.config.workers.count > s.facts.data->examples;
     },
     [](const Situation& s) {
       return fmt::format("workers.count: there are {} workers, but only {} training examples",
                          s.config.workers.count, s.facts.data->examples);
     }},
    {"processes-have-workers",
     {"workers.count"},
     [](const Situation& s) { return s.facts.processes.value_or(1) > s.config.workers.count; },
     [](const Situation& s) {
       return fmt::format(
           "workers.count: {} processes for {} workers: every process hosts at least one worker",
           *s.facts.processes, s.config.workers.count);
     }},
    {"batch-norm-of-one-model",
     {"workers.batch_norm", "workers.sync"},
     [](const Situation& s) { return shares_batch_norm(s) && !synchronises_steps(s); },
     [](const Situation& s) {
       return fmt::format(
           "workers.batch_norm: {} needs workers.sync: step; models that differ have no common "
           "statistics",
           norm_sharing().write(s.config.workers.batch_norm).front());
     }},
    {"outer-of-models",
     {"workers.outer", "workers.sync_start", "workers.outer_overlap", "eval.workers",
      "workers.sync"},
     [](const Situation& s) { return synchronises_steps(s) && !key_of_models(s).empty(); },
     [](const Situation& s) {
       return fmt::format(
           "{} needs workers.sync: epoch or a number of steps; models that average every gradient "
           "never differ",
           key_of_models(s));
     }},
    {"outer-rates",
     {"workers.outer_lr", "workers.outer_momentum", "workers.outer"},
     [](const Situation& s) {
       const WorkersConfig& workers = s.config.workers;
       return workers.outer == placement::kPlainOuter &&
              (workers.outer_lr || workers.outer_momentum);
     },
     [](const Situation&) -> std::string {
       return "workers.outer_lr, workers.outer_momentum: the mean of models has no rates; take "
              "workers.outer: nesterov or slowmo";
     }},
    {"models-come-apart",
     {"workers.sync_start", "epochs"},
     [](const Situation& s) {
       return s.config.workers.sync_start.of(s.config.epochs) >= s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format("workers.sync_start is {}, but epochs is {}: take workers.sync: step",
                          s.config.workers.sync_start.of(s.config.epochs), s.config.epochs);
     }},
    {"overlap-of-steps",
     {"workers.outer_overlap", "workers.sync"},
     [](const Situation& s) {
       return s.config.workers.outer_overlap &&
              s.config.workers.sync.kind == SyncRule::Kind::kEpoch;
     },
     [](const Situation&) -> std::string {
       return "workers.outer_overlap: the sum at the end of an epoch is waited for; take "
              "workers.sync: a number of steps";
     }},
    {"batch-norm-over-gpus",
     {"workers.batch_norm", "workers.count", "device"},
     [](const Situation& s) {
       return is_on_gpu(s) && placement::NormGroups{.workers = s.config.workers.count,
                                                    .size = s.config.workers.norm_group(),
                                                    .processes = s.facts.processes.value_or(1)}
                                  .are_cut();
     },
     [](const Situation& s) {
       const WorkersConfig& workers = s.config.workers;
       return fmt::format(
           "workers.batch_norm: {} of {} workers share statistics, but GPUs share none, and {} "
           "processes part them; take fewer processes, device=cpu, or groups that lie within a "
           "process",
           workers.norm_group(), workers.count, *s.facts.processes);
     }},
    {"batch-norm-exactly",
     {"workers.batch_norm", "workers.reduce", "device"},
     [](const Situation& s) {
       return is_on_gpu(s) && shares_batch_norm(s) &&
              s.config.workers.reduce == WorkersConfig::Reduce::kExact;
     },
     [](const Situation&) -> std::string {
       return "workers.batch_norm: workers that share statistics under workers.reduce: exact wait "
              "for each other inside of a pass, which is for the CPU; take device=cpu or "
              "reduce=fast";
     }},
    {"transport-of-steps",
     {"workers.transport", "workers.sync", "workers.reduce", "workers.micro_batch"},
     [](const Situation& s) {
       const bool one_pass = !synchronises_steps(s) || s.facts.updates_on_device.value_or(true);
       return wants_nccl(s) &&
              !(one_pass && s.config.workers.reduce == WorkersConfig::Reduce::kFast);
     },
     [](const Situation&) -> std::string {
       return "workers.transport: nccl needs workers.reduce: fast, and where gradients are "
              "averaged "
              "in every step those of one forward pass (workers.micro_batch); take auto";
     }},
    {"nesterov",
     {"optimizer.nesterov", "optimizer.momentum"},
     [](const Situation& s) {
       const OptimizerConfig& optimizer = s.config.optimizer;
       return optimizer.name == OptimizerConfig::Name::kSgd && optimizer.nesterov &&
              optimizer.momentum == 0;
     },
     [](const Situation&) -> std::string {
       return "optimizer.nesterov: true needs optimizer.momentum above 0";
     }},
    {"learning-rate-warm-up",
     {"optimizer.warmup_epochs", "epochs"},
     [](const Situation& s) {
       return s.config.optimizer.warmup_epochs.of(s.config.epochs) > s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format("optimizer.warmup_epochs is {}, but epochs is {}",
                          s.config.optimizer.warmup_epochs.of(s.config.epochs), s.config.epochs);
     }},
};

}  // namespace

std::span<const Rule> worker_rules() {
  return kWorkerRules;
}

}  // namespace impart::config
