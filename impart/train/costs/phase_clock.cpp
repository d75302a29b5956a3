#include "impart/train/costs/phase_clock.h"

#include <algorithm>
#include <utility>

#include "impart/cuda/marks.h"
#include "impart/tensors/torch_stream.h"

namespace impart::train {
namespace {

using Seconds = std::chrono::duration<double>;

/// Marks that are kept before those that were passed are charged: an epoch may have many steps.
constexpr std::size_t kMostStretches = 1024;

class HostMarks final : public PhaseMarks {
 public:
  void set() noexcept override { times_.push_back(std::chrono::steady_clock::now()); }

  std::vector<double> take_passed() override {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < times_.size(); ++i) {
      gaps.push_back(Seconds(times_[i] - times_[i - 1]).count());
    }
    if (!times_.empty()) times_ = {times_.back()};
    return gaps;
  }

  void wait() override {}

 private:
  std::vector<std::chrono::steady_clock::time_point> times_;
};

class DeviceMarks final : public PhaseMarks {
 public:
  void set() noexcept override { marks_.set(tensors::current_stream()); }
  std::vector<double> take_passed() override { return marks_.take_passed(); }
  void wait() override { marks_.wait(); }

 private:
  cuda::Marks marks_;
};

}  // namespace

std::unique_ptr<PhaseMarks> make_host_marks() {
  return std::make_unique<HostMarks>();
}

std::unique_ptr<PhaseMarks> make_device_marks() {
  return std::make_unique<DeviceMarks>();
}

PhaseClock::PhaseClock(std::unique_ptr<PhaseMarks> marks)
    : marks_(std::move(marks)), charged_(Clock::now()) {
  marks_->set();
}

void PhaseClock::enter(Phase phase) {
  enter_again(phase);
  if (stretches_.size() >= kMostStretches) charge_passed();
}

void PhaseClock::enter_again(Phase phase) noexcept {
  if (phase != phase_) set_mark();
  phase_ = phase;
}

PhaseReading PhaseClock::read() {
  set_mark();
  marks_->wait();
  charge_passed();
  return std::exchange(reading_, {});
}

void PhaseClock::set_mark() noexcept {
  marks_->set();
  stretches_.push_back({phase_, Clock::now()});
}

/// Where the host needs longer from mark to mark than the device it loses its lead: as long as it
/// has one, it can only have waited.
void PhaseClock::charge_passed() {
  for (const double seconds : marks_->take_passed()) {
    const Stretch stretch = stretches_.front();
    stretches_.pop_front();
    reading_.seconds.*stretch.phase += seconds;
    const double lost = Seconds(stretch.end - charged_).count() - seconds;
    reading_.host_wait += std::clamp(lost, 0.0, lead_);
    lead_ = std::max(0.0, lead_ - lost);
    charged_ = stretch.end;
  }
}

}  // namespace impart::train
