#include "cli/train_display.h"

#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal_text.h"

namespace impart::cli {
namespace {

constexpr auto kRepaint = std::chrono::milliseconds(100);

}  // namespace

TrainDisplay::TrainDisplay() : on_terminal_(::isatty(STDERR_FILENO) != 0) {}

TrainDisplay::~TrainDisplay() {
  if (painted_) say("\r\x1b[K");
}

train::RunObserver TrainDisplay::observer() {
  return {.progress = [this](const train::RunProgress& progress) { show_progress(progress); },
          .epoch = [this](const train::EpochReport& report) { show_epoch(report); },
          .note = [this](const std::string& note) { print_line(note); }};
}

void TrainDisplay::show_progress(const train::RunProgress& p) {
  const auto now = std::chrono::steady_clock::now();
  if (!on_terminal_ || now - last_paint_ < kRepaint) return;
  last_paint_ = now;
  painted_ = true;
  std::string line = fmt::format("{:<11} epoch {}/{}", p.phase, p.epoch + 1, p.epochs);
  if (p.steps > 0) line += fmt::format("  step {}/{}", p.step, p.steps);
  if (p.examples_per_second > 0) {
    line += fmt::format("  {:.0f} examples/s  {} left", p.examples_per_second,
                        duration_text(p.seconds_left));
  }
  if (p.loss) line += fmt::format("  loss {:.4f}", *p.loss);
  if (p.score) line += fmt::format("  {} {}", p.task.metric, data::score_text(p.task, *p.score));
  say("\r\x1b[K{}", line);
}

void TrainDisplay::show_epoch(const train::EpochReport& r) {
  std::string line = fmt::format("epoch {:>3}/{}  loss {:.4f}  train {:.2f} %", r.epoch + 1,
                                 r.epochs, r.train_loss, r.train_accuracy);
  if (r.score) line += "  " + data::test_text(r.task, r.test_loss.value_or(0), *r.score);
  line += fmt::format("  {:.1f} s", r.seconds);
  if (r.event == "heuristic") line += "  repartitioned";
  if (r.event == "exchange") line += "  exchanged";
  print_line(line);
}

void TrainDisplay::print_line(const std::string& line) {
  say("{}{}\n", painted_ ? "\r\x1b[K" : "", line);
  painted_ = false;
}

}  // namespace impart::cli
