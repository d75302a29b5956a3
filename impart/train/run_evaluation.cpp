#include "impart/train/run_evaluation.h"

#include "impart/train/costs/phase_clock.h"

namespace impart::train {

RunEvaluation::RunEvaluation(const config::RunConfig& config, RunData& data, Engine& engine,
                             comm::Communicator& communicator)
    : config_(config), data_(data), engine_(engine), communicator_(communicator) {
  if (DeviceEvaluation::can_run(*data_.test, communicator)) {
    on_device_ = std::make_unique<DeviceEvaluation>(
        engine_.model(), *data_.test, config_.precision == config::RunConfig::Precision::kBf16);
  }
}

bool RunEvaluation::is_due(std::uint32_t epoch) const {
  return epoch + 1 == config_.epochs || config_.eval.every.is_due(epoch + 1, config_.epochs);
}

EvaluationSpec RunEvaluation::describe(std::uint32_t epoch) const {
  return {.protocol = config_.eval.protocol,
          .batch = config_.eval.batch,
          .hosted_workers = engine_.norm_groups(),
          .epoch = epoch,
          .mirror = config_.eval.mirror,
          .reader = WorkerId{engine_.hosted().first}};
}

data::TestOutcome RunEvaluation::test(std::uint32_t epoch) {
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::evaluation);
  engine_.collapse_statistics();
  data::TestOutcome outcome =
      on_device_ ? on_device_->evaluate(describe(epoch))
                 : evaluate(engine_.model(), *data_.test, describe(epoch), communicator_);
  outcome.bytes = data_.test_bytes;
  return outcome;
}

std::vector<double> RunEvaluation::test_workers(std::uint32_t epoch) {
  std::vector<double> scores;
  if (!config_.eval.workers || !config::trains_apart(config_, epoch)) return scores;
  const PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::evaluation);
  for (std::uint32_t worker = 0; worker < config_.workers.count; ++worker) {
    engine_.show_worker(worker);
    data::TestOutcome outcome =
        evaluate(engine_.model(), *data_.test, describe(epoch), communicator_);
    outcome.bytes = data_.test_bytes;
    scores.push_back(data::score_of(data_.task, outcome));
  }
  engine_.show_worker(std::nullopt);
  engine_.model().train();
  return scores;
}

}  // namespace impart::train
