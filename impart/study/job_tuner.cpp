#include "impart/study/job_tuner.h"

#include <algorithm>

namespace impart::study {
namespace {

/// What twice as many runs must bring at least, to be worth their memory.
constexpr double kWorthIt = 1.05;

}  // namespace

void JobTuner::note_end(double now) {
  if (found_) return;
  ++ends_;
  if (ends_ == jobs_) started_ = now;
  if (ends_ < 2 * jobs_) return;
  const double rate = jobs_ / (now - started_);
  if (rate < kWorthIt * best_rate_) {
    found_ = true;
    jobs_ = best_jobs_;
    return;
  }
  best_rate_ = rate;
  best_jobs_ = jobs_;
  found_ = jobs_ == most_;
  jobs_ = std::min(2 * jobs_, most_);
  ends_ = 0;
}

}  // namespace impart::study
