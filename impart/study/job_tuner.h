#pragma once

#include <cstdint>

namespace impart::study {

/// Finds how many runs at a time end soonest all together, by trying: twice as many as long as more
/// runs end per second, then what was best. With each number so many runs are let by that were
/// started with fewer beside them, and as many more are timed.
class JobTuner {
 public:
  explicit JobTuner(std::uint32_t most) : most_(most) {}

  std::uint32_t jobs() const { return jobs_; }
  bool has_found() const { return found_; }
  /// A run has ended, at that time in seconds.
  void note_end(double now);

 private:
  std::uint32_t most_;
  std::uint32_t jobs_ = 1;
  std::uint32_t ends_ = 0;  ///< with this number
  double started_ = 0;      ///< when the timing began
  std::uint32_t best_jobs_ = 1;
  double best_rate_ = 0;  ///< runs per second, with best_jobs_
  bool found_ = false;
};

}  // namespace impart::study
