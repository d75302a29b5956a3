#include "cli/terminal/progress_line.h"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 1s;
constexpr auto kRepaint = 100ms;
constexpr auto kPlainRepeat = 10s;

}  // namespace

ProgressLine::ProgressLine() : painter_([this] { paint_until_done(); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  painter_.join();
}

Progress ProgressLine::phase(std::string name) {
  return start_phase(std::move(name), false);
}

Progress ProgressLine::bytes_phase(std::string name) {
  return start_phase(std::move(name), true);
}

Progress ProgressLine::start_phase(std::string name, bool counts_bytes) {
  const std::lock_guard lock(mutex_);
  phase_ = std::move(name);
  amount_done_ = amount_total_ = 0;
  counts_bytes_ = counts_bytes;
  first_report_ = {};
  return [this](std::uint64_t done, std::uint64_t total) {
    const std::lock_guard inner(mutex_);
    if (first_report_ == Clock::time_point{} || done < first_amount_) {
      first_report_ = Clock::now();
      first_amount_ = done;
    }
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
  const std::string line = fmt::format("{}{} ({:.0f} s)", phase_, amount_text(), seconds);
  if (terminal_.paints) {
    painting_.paint({cut(line, terminal_size(STDERR_FILENO).columns - 1)});
  } else if (phase_ != printed_phase_ || now - printed_at_ >= kPlainRepeat) {
    say("{}\n", line);
    printed_phase_ = phase_;
    printed_at_ = now;
  }
}

/// "" before anything is known, or " 42 %", or " 42.0 of 170.1 MB, 3.5 MB/s, 37 s left".
std::string ProgressLine::amount_text() const {
  const auto done = static_cast<double>(amount_done_), total = static_cast<double>(amount_total_);
  if (!counts_bytes_)
    return amount_total_ == 0 ? "" : fmt::format(" {:.0f} %", 100.0 * done / total);
  if (amount_done_ == 0) return "";
  std::string text = fmt::format(" {:.1f}", done / 1e6);
  if (amount_total_ > 0) text += fmt::format(" of {:.1f}", total / 1e6);
  text += " MB";
  const double seconds = std::chrono::duration<double>(Clock::now() - first_report_).count();
  const double rate = seconds > 0 ? (done - static_cast<double>(first_amount_)) / seconds : 0;
  if (rate <= 0) return text;
  text += fmt::format(", {:.1f} MB/s", rate / 1e6);
  if (amount_total_ > 0) text += fmt::format(", {:.0f} s left", (total - done) / rate);
  return text;
}

}  // namespace impart::cli
