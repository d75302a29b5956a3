#include "cli/train_display.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal/line_layout.h"
#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRepaint = 50ms;
constexpr std::chrono::nanoseconds kLossRepeat = 250ms;
/// To ask for the loss takes at most one part of so many of the time.
constexpr int kLossShare = 100;

constexpr std::string_view kBold = "1", kCyan = "36", kYellow = "33";
constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

std::vector<LineField> progress_fields(const train::RunProgress& p, std::optional<double> loss) {
  const double share = p.steps > 0 ? static_cast<double>(p.step) / p.steps : 0;
  std::vector<LineField> fields = {
      {.text = fmt::format("{:<11}", p.phase), .rank = 6, .colour = kBold},
      {.text = fmt::format("epoch {}/{}", p.epoch + 1, p.epochs), .rank = 1},
      {.text = "", .rank = 5, .colour = kCyan, .is_bar = true, .share = share},
      {.text = fmt::format("{:>3.0f}%", 100 * share), .rank = 2}};
  if (loss) fields.push_back({.text = fmt::format("loss {:.4f}", *loss), .rank = 4});
  if (p.examples_per_second > 0) {
    fields.push_back({.text = fmt::format("{:.0f} examples/s", p.examples_per_second), .rank = 7});
    fields.push_back({.text = fmt::format("{} left", duration_text(p.seconds_left)), .rank = 3});
  }
  if (p.score) {
    fields.push_back(
        {.text = fmt::format("{} {}", p.task.metric, data::score_text(p.task, *p.score)),
         .rank = 8});
  }
  return fields;
}

std::string event_text(const std::string& event) {
  if (event == "heuristic") return "repartitioned";
  return event == "exchange" ? "exchanged" : "";
}

std::vector<LineField> epoch_fields(const train::EpochReport& r, Verbosity verbosity,
                                    std::string_view part) {
  std::vector<LineField> fields = {
      {.text = fmt::format("epoch {:>3}/{}", r.epoch + 1, r.epochs), .rank = 1},
      {.text = fmt::format("loss {:.4f}", r.train_loss), .rank = 3},
      {.text = fmt::format("train {:.2f} %", r.train_accuracy), .rank = 5}};
  if (r.score) {
    fields.push_back(
        {.text = data::test_text(r.task, r.test_loss.value_or(0), *r.score, part), .rank = 2});
  }
  fields.push_back({.text = fmt::format("{:.1f} s", r.seconds), .rank = 6});
  if (verbosity == Verbosity::kVerbose) {
    fields.push_back({.text = fmt::format("{:.1f} s training", r.seconds_train), .rank = 7});
    fields.push_back({.text = fmt::format("lr {:.3g}", r.learning_rate), .rank = 8});
  }
  const std::string event = event_text(r.event);
  if (!event.empty()) fields.push_back({.text = event, .rank = 4, .colour = kYellow});
  return fields;
}

}  // namespace

train::RunObserver TrainDisplay::observer() {
  train::RunObserver observer;
  observer.note = [this](const std::string& note) { print_line(harmless(note)); };
  if (verbosity_ == Verbosity::kQuiet) return observer;
  observer.epoch = [this](const train::EpochReport& report) { show_epoch(report); };
  if (terminal_.paints) {
    observer.progress = [this](const train::RunProgress& progress) { show_progress(progress); };
  }
  if (verbosity_ != Verbosity::kVerbose) return observer;
  observer.start = [this](const train::RunStart& start) { show_start(start); };
  observer.partition = [this](const train::PartitionReport& report) { show_partition(report); };
  return observer;
}

void TrainDisplay::show_start(const train::RunStart& s) {
  print_line(fmt::format("{} examples, {} workers in {} processes on {}, epochs {} to {}",
                         s.examples, s.workers, s.processes, s.device, s.epoch + 1, s.epochs));
}

void TrainDisplay::show_partition(const train::PartitionReport& r) {
  print_line(fmt::format("epoch {}: {}, {} examples moved in {} messages", r.epoch + 1, r.event,
                         r.moved, r.messages));
}

void TrainDisplay::ask_for_loss(const train::RunProgress& p) {
  if (p.epoch != loss_epoch_) loss_.reset();
  const auto now = Clock::now();
  if (p.step == 0 || (loss_ && now < next_loss_)) return;
  loss_ = p.running_loss();
  loss_epoch_ = p.epoch;
  next_loss_ = now + std::max(kLossRepeat, kLossShare * (Clock::now() - now));
}

void TrainDisplay::show_progress(const train::RunProgress& p) {
  const auto now = Clock::now();
  if (now - last_paint_ < kRepaint) return;
  last_paint_ = now;
  ask_for_loss(p);
  const std::size_t columns = terminal_size(STDERR_FILENO).columns - 1;
  painting_.paint({lay_out(progress_fields(p, loss_), columns, terminal_)});
}

void TrainDisplay::show_epoch(const train::EpochReport& r) {
  const std::size_t columns =
      terminal_.paints ? terminal_size(STDERR_FILENO).columns - 1 : kAnyWidth;
  print_line(lay_out(epoch_fields(r, verbosity_, part_), columns, terminal_));
}

void TrainDisplay::print_line(const std::string& line) {
  if (print_) return print_(line);
  painting_.clear();
  say("{}\n", line);
}

}  // namespace impart::cli
