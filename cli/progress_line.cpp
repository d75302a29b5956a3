#include "cli/progress_line.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace impart::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 1s;
constexpr auto kRepaint = 100ms;
constexpr auto kPlainRepeat = 10s;

}  // namespace

ProgressLine::ProgressLine()
    : on_terminal_(::isatty(STDERR_FILENO) != 0), painter_([this] { paint_until_done(); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  painter_.join();
  if (painted_ && on_terminal_) fmt::print(stderr, "\r\x1b[K");
}

Progress ProgressLine::phase(std::string name) {
  const std::lock_guard lock(mutex_);
  phase_ = std::move(name);
  amount_done_ = amount_total_ = 0;
  return [this](std::uint64_t done, std::uint64_t total) {
    const std::lock_guard inner(mutex_);
    amount_done_ = done;
    amount_total_ = total;
  };
}

void ProgressLine::paint_until_done() {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kPatience, [this] { return done_; });
  while (!done_) {
    paint();
    wake_.wait_for(lock, kRepaint, [this] { return done_; });
  }
}

void ProgressLine::paint() {
  if (phase_.empty()) return;
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string share =
      amount_total_ == 0 ? ""
                         : fmt::format(" {:.0f} %", 100.0 * static_cast<double>(amount_done_) /
                                                        static_cast<double>(amount_total_));
  if (on_terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{} ({:.0f} s)", phase_, share, seconds);
    std::fflush(stderr);
  } else if (phase_ != printed_phase_ || now - printed_at_ >= kPlainRepeat) {
    fmt::print(stderr, "{}{} ({:.0f} s)\n", phase_, share, seconds);
    printed_phase_ = phase_;
    printed_at_ = now;
  }
  painted_ = true;
}

}  // namespace impart::cli
