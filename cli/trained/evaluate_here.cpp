// For impart-engine: impart evaluate.

#include <optional>

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/trained/machine.h"
#include "cli/trained/requests.h"
#include "impart/comm/job.h"
#include "impart/train/use/trained_evaluation.h"

namespace impart::cli {
namespace {

void print_json(const train::TrainedOutcome& outcome, const config::RunConfig& config) {
  nlohmann::ordered_json json = {
      {"task", outcome.task.name},
      {"evaluated_on", config.data.validation > 0 ? "validation" : "test"},
      {"predictions", outcome.test.predictions},
      {"loss", outcome.test.loss},
      {"accuracy", outcome.test.accuracy}};
  for (const data::Metric& metric : outcome.task.metrics) {
    if (const auto value = metric.measure(outcome.test)) json[metric.name] = *value;
  }
  answer("{}\n", json.dump());
}

void print_text(const train::TrainedOutcome& outcome, const config::RunConfig& config) {
  const bool is_language = outcome.task == data::kLanguage;
  answer("{}{} {}, loss {:.4f}", config.data.validation > 0 ? "validation " : "",
         is_language ? "tokens" : "examples", outcome.test.predictions, outcome.test.loss);
  for (const data::Metric& metric : outcome.task.metrics) {
    const auto value = metric.measure(outcome.test);
    if (value) answer(", {} {:.{}f}{}", metric.name, *value, metric.digits, metric.unit);
  }
  answer("\n");
}

}  // namespace

void evaluate_here(const EvaluateRequest& request) {
  const trained::TrainedModel model = trained::find_trained_model(request.folder);
  const config::RunConfig config = trained::read_config(model, request.overrides);
  const Machine machine(config);
  comm::Communicator& communicator = *machine.communicator;
  const train::TrainedOutcome outcome = comm::run_job(
      communicator, [&] { return train::evaluate_trained(model, config, communicator); });
  if (communicator.rank() != 0) return;
  request.json ? print_json(outcome, config) : print_text(outcome, config);
}

}  // namespace impart::cli
