#include "impart/train/costs/phase_clock.h"

#include <thread>

#include <gtest/gtest.h>

namespace impart::train {
namespace {

using store::PhaseSeconds;

/// A device that needs as long as the test says for what lies between two marks, whatever the host
/// does meanwhile.
class ScriptedDevice final : public PhaseMarks {
 public:
  explicit ScriptedDevice(std::vector<double> gaps) : gaps_(std::move(gaps)) {}

  void set() noexcept override { ++set_; }
  std::vector<double> take_passed() override {
    std::vector<double> passed;
    while (waited_ && told_ + 1 < set_) passed.push_back(gaps_.at(told_++));
    return passed;
  }
  void wait() override { waited_ = true; }

 private:
  std::vector<double> gaps_;
  std::size_t set_ = 0, told_ = 0;
  bool waited_ = false;
};

TEST(PhaseClock, ChargesWorkWhereTheDeviceDoesItNotWhereTheHostWaits) {
  PhaseClock clock(std::make_unique<ScriptedDevice>(std::vector<double>{0.5, 90, 3, 0.25}));
  clock.enter(&PhaseSeconds::step);  // starts 90 s of work, and returns
  clock.enter(&PhaseSeconds::tracking);
  clock.enter(&PhaseSeconds::evaluation);
  const PhaseReading reading = clock.read();
  EXPECT_EQ(reading.seconds.other, 0.5);
  EXPECT_EQ(reading.seconds.step, 90);
  EXPECT_EQ(reading.seconds.tracking, 3);
  EXPECT_EQ(reading.seconds.evaluation, 0.25);
  EXPECT_EQ(reading.seconds.total(), 93.75);
}

TEST(PhaseClock, SaysHowLongTheHostWaitedForTheDevice) {
  // The host is 0.03 s ahead when it comes to the second phase, in which it waits.
  PhaseClock clock(std::make_unique<ScriptedDevice>(std::vector<double>{0.03, 0, 0}));
  clock.enter(&PhaseSeconds::tracking);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  clock.enter(&PhaseSeconds::partition);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_NEAR(clock.read().host_wait, 0.03, 0.005);
}

TEST(PhaseClock, OfTheHostNeverWaits) {
  PhaseClock clock(make_host_marks());
  clock.enter(&PhaseSeconds::step);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(clock.read().host_wait, 1e-3);
}

TEST(PhaseClock, PhasesWithinPhasesAreNotCountedTwice) {
  PhaseClock clock(std::make_unique<ScriptedDevice>(std::vector<double>{1, 2, 4, 8, 16}));
  {
    const PhaseTimer partition(clock, &PhaseSeconds::partition);
    const PhaseTimer again(clock, &PhaseSeconds::partition);  // sets no mark
    { const PhaseTimer pass(clock, &PhaseSeconds::importance_pass); }
  }
  const PhaseSeconds seconds = clock.read().seconds;
  EXPECT_EQ(seconds.other, 1 + 16);
  EXPECT_EQ(seconds.partition, 2 + 8);
  EXPECT_EQ(seconds.importance_pass, 4);
}

TEST(PhaseClock, ReadsEachStretchOnce) {
  PhaseClock clock(std::make_unique<ScriptedDevice>(std::vector<double>{1, 2, 4}));
  clock.enter(&PhaseSeconds::step);
  clock.rename(&PhaseSeconds::exchange);
  EXPECT_EQ(clock.read().seconds.exchange, 2);
  const PhaseSeconds later = clock.read().seconds;
  EXPECT_EQ(later.exchange, 4);
  EXPECT_EQ(later.total(), 4);
}

TEST(PhaseClock, HostMarksAddUpToTheTimeOnTheClock) {
  const auto start = std::chrono::steady_clock::now();
  PhaseClock clock(make_host_marks());
  for (int i = 0; i < 5000; ++i) {  // more than are kept
    const PhaseTimer forward(clock, &PhaseSeconds::forward);
    if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const PhaseSeconds seconds = clock.read().seconds;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(seconds.forward, 0.02);
  EXPECT_NEAR(seconds.total(), passed.count(), 0.02 * passed.count());
}

}  // namespace
}  // namespace impart::train
