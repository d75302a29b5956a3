// A step of workers that each train weights of their own, which become one now and then.

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "impart/train/steps/host_sum.h"
#include "impart/train/steps/replica_pass.h"
#include "impart/train/steps/step.h"
#include "impart/train/update/outer_sync.h"
#include "impart/train/update/replicas.h"

namespace impart::train {
namespace {

class LocalStep final : public Step {
 public:
  explicit LocalStep(const StepContext& context)
      : context_(context),
        replicas_(context),
        pass_(make_replica_pass(context, replicas_)),
        sync_(context, replicas_) {}

  void begin_epoch() override {
    const std::uint32_t first = context_.passes->first_step();
    next_ = first;
    stretch_ = first - first % steps_between();
    sync_.begin_epoch(first);
    pass_->begin_epoch();
  }

  void run(std::uint32_t step, double learning_rate) override {
    pass_->run(step, learning_rate);
    replicas_.use_common();
    next_ = step + 1;
    last_rate_ = learning_rate;
    sync_.advance();
    if (next_ % steps_between() == 0) agree(context_.config->workers.outer_overlap);
  }

  void end_epoch() override {
    agree(false);
    pass_->end_epoch();
  }

  torch::Tensor collected(std::int64_t rows) const override { return pass_->collected(rows); }
  std::vector<SyncRecord> syncs() const override { return sync_.records(); }
  void set_syncs(std::vector<SyncRecord> syncs) override { sync_.set_records(std::move(syncs)); }
  void show_worker(std::optional<std::uint32_t> worker) override;

  void gather_state(NamedTensors& state) override {
    replicas_.gather_state(state);
    sync_.gather_state(state);
  }
  void restore_state(const FindTensor& find) override {
    replicas_.restore_state(find);
    sync_.restore_state(find);
  }

 private:
  /// An epoch has fewer steps than there are numbers.
  std::uint32_t steps_between() const {
    const config::SyncRule& sync = context_.config->workers.sync;
    return sync.kind == config::SyncRule::Kind::kEverySteps ? sync.steps : UINT32_MAX;
  }

  /// The last of an epoch is not delayed, and it is none if there was no step since the one before.
  void agree(bool delayed) {
    const PhaseTimer timer(*context_.clock, &store::PhaseSeconds::weight_exchange);
    sync_.finish();
    if (next_ == stretch_) return;
    const Stretch stretch{.first = stretch_,
                          .last = next_,
                          .learning_rate = last_rate_,
                          .find_bad_step = [this, first = stretch_, last = next_](auto worker) {
                            return find_bad_step(worker, first, last);
                          }};
    delayed ? sync_.start(stretch) : sync_.agree(stretch);
    stretch_ = next_;
  }

  std::optional<std::uint32_t> find_bad_step(std::uint32_t worker, std::uint32_t first,
                                             std::uint32_t last) const {
    if (context_.signals == nullptr) return std::nullopt;
    const EpochPasses& passes = *context_.passes;
    const torch::Tensor losses = pass_->collected(passes.rows())[SignalSet::kLossRow];
    for (std::uint32_t step = std::max(first, passes.first_step()); step < last; ++step) {
      for (const WorkerGroup& group : passes.groups_of(step)) {
        if (group.first != worker) continue;
        const auto rows = losses.narrow(0, group.row, group.rows);
        if (!torch::isfinite(rows).all().item<bool>()) return step;
      }
    }
    return std::nullopt;
  }

  StepContext context_;
  Replicas replicas_;
  std::unique_ptr<ReplicaPass> pass_;
  OuterSync sync_;
  std::uint32_t stretch_ = 0;  ///< first step since the workers last agreed
  std::uint32_t next_ = 0;     ///< step
  double last_rate_ = 0;
};

/// The process that hosts it tells the others.
void LocalStep::show_worker(std::optional<std::uint32_t> worker) {
  if (!worker) {
    replicas_.use_common();
    return;
  }
  const torch::NoGradGuard no_grad;
  comm::Communicator& communicator = *context_.communicator;
  const std::uint32_t owner = placement::hosting_process(
      WorkerId{*worker}, context_.config->workers.count, communicator.size());
  torch::Tensor shown = torch::empty_like(replicas_.common(), torch::kCPU);
  if (owner == communicator.rank()) {
    shown.copy_(replicas_.values()[*worker - context_.hosted.first]);
  }
  communicator.broadcast(std::as_writable_bytes(floats(shown)), owner);
  replicas_.use_foreign(shown.to(replicas_.common().device()));
}

}  // namespace

std::unique_ptr<Step> make_local_step(const StepContext& context) {
  return std::make_unique<LocalStep>(context);
}

}  // namespace impart::train
