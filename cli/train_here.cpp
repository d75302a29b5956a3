// For impart-engine: one run, in this process or in all processes of an MPI job.

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/terminal/terminal_text.h"
#include "cli/train.h"
#include "cli/train_display.h"
#include "cli/train_json.h"
#include "impart/comm/job.h"
#include "impart/config/config_text.h"
#include "impart/run/result_columns.h"
#include "impart/train/run.h"

namespace impart::cli {
namespace {

constexpr int kPreempted = 85;
constexpr int kDiverged = 86;

void print_end(const TrainRequest& request, const train::RunOutcome& outcome) {
  if (request.json) return print_json_end(request, outcome);
  for (const std::string& line : summary_lines(request, outcome)) answer("{}\n", line);
}

/// With --json the events are the answer; a progress line stays where it cannot get between them.
train::RunObserver observe(const TrainRequest& request, TrainDisplay& display) {
  if (!request.json) return display.observer();
  train::RunObserver observer = json_observer(request);
  if (::isatty(STDOUT_FILENO) == 0) observer.progress = display.observer().progress;
  return observer;
}

/// Where the configuration is from, and what of it has no effect.
void say_about(const TrainRequest& request) {
  if (!request.source.empty()) say("{}\n", harmless(request.source));
  for (const std::string& sentence : request.unused) say("note: {}\n", harmless(sentence));
}

/// Begins a line of its own: a progress line may stand there.
void print_long_wait(const std::string& message) {
  const bool on_terminal = ::isatty(STDERR_FILENO) != 0;
  say("{}impart: {}\n", on_terminal ? "\r\x1b[K" : "", message);
}

}  // namespace

/// "stopped after 7 of 50 epochs: accuracy >= 82 is reached"
std::string stop_text(const config::RunConfig& config, const run::StoppedAt& at) {
  const config::StopConfig& stop = config.stop;
  return fmt::format("stopped after {} of {} epochs: {}", at.epoch + 1, config.epochs,
                     at.reached && stop.at
                         ? fmt::format("{} is reached", to_text(*stop.at))
                         : fmt::format("{} evaluations without a better one", stop.patience));
}

std::vector<std::string> summary_lines(const TrainRequest& request,
                                       const train::RunOutcome& outcome) {
  const std::string& output = request.config.output;
  const run::RunSummary& s = outcome.summary;
  if (outcome.preempted) {
    return {fmt::format("stopped and checkpointed; go on with: impart train --resume {}", output)};
  }
  const data::Task& task = outcome.task;
  const run::ResultColumn& column = run::column_of(task.metric);
  std::vector<std::string> lines = {fmt::format(
      "best {}{} {} (epoch {}), final {}, {:.1f} s, {} examples moved",
      s.validation_examples > 0 ? "validation " : "", task.metric,
      data::score_text(task, (s.*column.best).value_or(0)), s.best_epoch + 1,
      data::score_text(task, (s.*column.last).value_or(0)), s.seconds_total, s.examples_moved)};
  if (s.diverged_at && outcome.failure.empty()) {
    lines.push_back(fmt::format("diverged: the training loss is not finite since epoch {}",
                                *s.diverged_at + 1));
  }
  if (s.stopped_at) lines.push_back(stop_text(request.config, *s.stopped_at));
  lines.push_back("run directory: " + output);
  return lines;
}

int exit_code(const train::RunOutcome& outcome) {
  if (outcome.preempted) return kPreempted;
  return outcome.failure.empty() ? 0 : kDiverged;
}

void keep_arguments(char**) {}
void require_engine() {}
void end_engine(int code) {
  ::_exit(code);
}

void train_here(const TrainRequest& request) {
  const config::RunConfig& config = request.config;
  count_stop_signals();
  const auto communicator =
      comm::make_communicator({.timeout = std::chrono::seconds(config.comm.timeout),
                               .on_long_wait = print_long_wait,
                               .short_queues = config.exchange.arrivals_last});
  const bool is_first = communicator->rank() == 0;
  const train::RunOutcome outcome = comm::run_job(*communicator, [&] {
    TrainDisplay display(request.verbosity, config);
    if (is_first && !request.json && request.verbosity != Verbosity::kQuiet) say_about(request);
    return train::run_training({.config = config,
                                .config_text = config::to_yaml(config),
                                .config_hash = config::config_hash(config),
                                .overwrite = request.overwrite,
                                .resume = request.resume,
                                .stop_requested = stop_requested},
                               *communicator,
                               is_first ? observe(request, display) : train::RunObserver{});
  });
  if (is_first) print_end(request, outcome);
  allow_lost_output();
  if (is_first && !outcome.failure.empty()) {
    say("impart: {}: {}\n", config.output, outcome.failure);
  }
  if (const int code = exit_code(outcome); code != 0) throw ExitCode{code};
}

void add_commands(CLI::App& app) {
  add_train_command(app);
  add_serve_command(app);
  add_trained_commands(app);
}

}  // namespace impart::cli
