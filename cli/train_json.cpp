#include "cli/train_json.h"

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "impart/run/result_columns.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Whoever reads it need not wait for the next.
void print_event(const Json& event) {
  answer("{}\n", event.dump(-1, ' ', false, Json::error_handler_t::replace));
  flush_answer();
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json describe(const train::EpochReport& r) {
  return {{"event", "epoch"},
          {"epoch", r.epoch},
          {"train_loss", r.train_loss},
          {"train_accuracy", r.train_accuracy},
          {"test_loss", number(r.test_loss)},
          {"metric", r.task.metric},
          {"score", number(r.score)},
          {"learning_rate", r.learning_rate},
          {"seconds", r.seconds},
          {"seconds_train", r.seconds_train}};
}

std::string_view status_of(const train::RunOutcome& outcome) {
  if (outcome.preempted) return "stopped";
  return outcome.failure.empty() ? "done" : "diverged";
}

}  // namespace

train::RunObserver json_observer(const TrainRequest& request) {
  train::RunObserver observer;
  observer.start = [&request](const train::RunStart& s) {
    print_event({{"event", "start"},
                 {"name", request.config.name},
                 {"output", request.config.output},
                 {"epoch", s.epoch},
                 {"epochs", s.epochs},
                 {"examples", s.examples},
                 {"evaluated_on", request.config.data.validation > 0 ? "validation" : "test"},
                 {"workers", s.workers},
                 {"processes", s.processes},
                 {"device", s.device}});
  };
  observer.partition = [](const train::PartitionReport& r) {
    print_event({{"event", "repartition"},
                 {"epoch", r.epoch},
                 {"kind", r.event},
                 {"moved", r.moved},
                 {"messages", r.messages}});
  };
  observer.epoch = [](const train::EpochReport& report) { print_event(describe(report)); };
  observer.note = [](const std::string& text) { print_event({{"event", "note"}, {"text", text}}); };
  return observer;
}

void print_json_end(const TrainRequest& request, const train::RunOutcome& outcome) {
  const run::RunSummary& s = outcome.summary;
  const run::ResultColumn& column = run::column_of(outcome.task.metric);
  print_event({{"event", "end"},
               {"status", status_of(outcome)},
               {"metric", outcome.task.metric},
               {"best", number(s.*column.best)},
               {"best_epoch", s.best_epoch},
               {"final", number(s.*column.last)},
               {"seconds", s.seconds_total},
               {"examples_moved", s.examples_moved},
               {"output", request.config.output}});
}

}  // namespace impart::cli
