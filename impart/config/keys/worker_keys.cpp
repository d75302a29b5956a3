#include "impart/config/keys/keys.h"
#include "impart/config/keys/section_keys.h"
#include "impart/placement/outers.h"

namespace impart::config {
namespace {

/// How models that were apart become one. These keys came when there were runs already.
void add_outer(SectionKeys<WorkersConfig>& workers) {
  const auto published = [](const NumberRange& range) {
    return or_word("published", number(range));
  };
  workers
      .key("sync_start", &WorkersConfig::sync_start, epochs<Epochs>(0, kMostEpochs),
           "epochs at the start that average gradients in every step (post-local SGD)")
      .counts_at_default = false;
  workers
      .key("outer", &WorkersConfig::outer, name_of("outer", names_of(placement::kOuters)),
           "how the mean of models becomes the next model (sync epoch, or so many steps)")
      .counts_at_default = false;
  workers
      .key("outer_lr", &WorkersConfig::outer_lr, published({.without_least = true}),
           "outer learning rate (nesterov: 0.7, slowmo: 1)")
      .counts_at_default = false;
  workers
      .key("outer_momentum", &WorkersConfig::outer_momentum,
           published({.most = 1, .without_most = true}),
           "outer momentum (nesterov: 0.9, slowmo: 0.7)")
      .counts_at_default = false;
  workers
      .key("outer_overlap", &WorkersConfig::outer_overlap, flag(),
           "models are summed during the next steps, and the outer step comes after these")
      .counts_at_default = false;
}

}  // namespace

void add_workers(Schema& schema) {
  SectionKeys workers(schema, "workers", &RunConfig::workers);
  workers.key("count", &WorkersConfig::count, whole(1u, placement::kMostWorkers),
              "logical workers");
  workers.key("batch", &WorkersConfig::batch, whole(1u), "examples per worker and step");
  workers.key("sync", &WorkersConfig::sync, sync_rule(),
              "average gradients every step, or models every epoch or so many steps");
  add_outer(workers);
  workers.key(
      "batch_norm", &WorkersConfig::batch_norm, norm_sharing(),
      "normalise with each worker's own batch, with the whole step, or with the batches of so "
      "many neighbouring workers together");
  using RunningStats = WorkersConfig::RunningStats;
  workers.key(
      "running_stats", &WorkersConfig::running_stats,
      choice<RunningStats>("running_stats", {{"mean", RunningStats::kMean},
                                             {"worker0", RunningStats::kWorker0},
                                             {"pooled", RunningStats::kPooled}}),
      "whose running batch-norm statistics evaluation uses; pooled: the mean, with the spread "
      "of the workers' means in the variance");
  using Uneven = placement::Uneven;
  workers.key(
      "uneven", &WorkersConfig::uneven,
      choice<Uneven>("uneven",
                     {{"weight", Uneven::kWeight}, {"pad", Uneven::kPad}, {"drop", Uneven::kDrop}}),
      "parts of unequal size: weight by examples, repeat some, or leave some out");
  workers.key(
      "shuffle", &WorkersConfig::shuffle,
      choice<placement::ShuffleKind>("shuffle", {{"per-worker", placement::ShuffleKind::kPerWorker},
                                                 {"shared", placement::ShuffleKind::kShared}}),
      "each worker shuffles on its own, or all by the same permutation");
  using Reduce = WorkersConfig::Reduce;
  workers.key("reduce", &WorkersConfig::reduce,
              choice<Reduce>("reduce", {{"fast", Reduce::kFast}, {"exact", Reduce::kExact}}),
              "exact: the same bits for every number of processes");
  workers.key("micro_batch", &WorkersConfig::micro_batch, whole(0u),
              "most examples in one forward pass; 0: chosen by the run");
  using Transport = WorkersConfig::Transport;
  workers.key("transport", &WorkersConfig::transport,
              choice<Transport>("transport", {{"auto", Transport::kAuto},
                                              {"mpi", Transport::kMpi},
                                              {"nccl", Transport::kNccl}}),
              "what sums gradients of GPUs; auto: NCCL where every process has its own, else MPI",
              kSameResult);
}

void add_optimizer(Schema& schema) {
  using Config = OptimizerConfig;
  SectionKeys optimizer(schema, "optimizer", &RunConfig::optimizer);
  optimizer.key("name", &Config::name,
                choice<Config::Name>(
                    "optimizer", {{"sgd", Config::Name::kSgd}, {"adamw", Config::Name::kAdamw}}),
                "optimizer");
  optimizer.key("lr", &Config::lr, number({.without_least = true}), "learning rate");
  optimizer.key("momentum", &Config::momentum, number({.most = 1, .without_most = true}),
                "momentum (sgd)");
  optimizer.key("nesterov", &Config::nesterov, flag(), "Nesterov's momentum (sgd)");
  optimizer.key("weight_decay", &Config::weight_decay, number({}), "weight decay");
  optimizer.key("beta1", &Config::beta1, number({.most = 1, .without_most = true}),
                "decay of the mean gradient (adamw)");
  optimizer.key("beta2", &Config::beta2, number({.most = 1, .without_most = true}),
                "decay of the mean squared gradient (adamw)");
  optimizer.key("epsilon", &Config::epsilon, number({.without_least = true}),
                "added to the root of the mean squared gradient (adamw)");
  using Schedule = Config::Schedule;
  optimizer.key("schedule", &Config::schedule,
                choice<Schedule>("schedule", {{"constant", Schedule::kConstant},
                                              {"step", Schedule::kStep},
                                              {"cosine", Schedule::kCosine},
                                              {"linear", Schedule::kLinear}}),
                "how the learning rate changes");
  using By = Config::ScheduleBy;
  optimizer
      .key("schedule_by", &Config::schedule_by,
           choice<By>("unit of the schedule", {{"epoch", By::kEpoch}, {"visits", By::kVisits}}),
           "what the schedule counts: epochs, or visits / examples, where a selection visits fewer")
      .counts_at_default = false;
  optimizer.key("warmup_epochs", &Config::warmup_epochs, epochs<Epochs>(0, kMostEpochs),
                "epochs in which the learning rate rises to lr");
  optimizer.key("step_epochs", &Config::step_epochs, epochs<EpochInterval>(1, kMostEpochs),
                "epochs between two changes (schedule step)");
  optimizer.key("step_factor", &Config::step_factor, number({.most = 1, .without_least = true}),
                "what lr is multiplied with then (schedule step)");
  optimizer.key("final_lr_factor", &Config::final_lr_factor, number({.most = 1}),
                "last learning rate as a share of lr (schedules cosine, linear)");
  optimizer.key("clip_norm", &Config::clip_norm, number({}),
                "largest norm of a step's gradient; 0: no limit");
  optimizer.key("label_smoothing", &Config::label_smoothing,
                number({.most = 1, .without_most = true}),
                "share of every target that training spreads over all classes");
}

}  // namespace impart::config
