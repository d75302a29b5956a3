#pragma once

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/data/task.h"
#include "impart/trained/trained_model.h"

namespace impart::train {

/// How a trained model did, and by what it is judged.
struct TrainedOutcome {
  data::Task task = data::kClasses;
  data::TestOutcome test = {};
};

/// Evaluates a trained model on the test examples that the config names, as its run did: with the
/// model's own normalisation and tokenizer, whatever the data is. The number of the run's last
/// evaluation, if the config is that of the run. A run from a version that wrote no model.json gets
/// one. ConfigError if the data has other classes or tokens than the model.
/// Collective: every process calls it, in the same order.
TrainedOutcome evaluate_trained(const trained::TrainedModel& model, config::RunConfig config,
                                comm::Communicator& communicator);

}  // namespace impart::train
