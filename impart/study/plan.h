#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "impart/study/arms.h"
#include "impart/study/record.h"
#include "impart/study/spec.h"

namespace impart::study {

/// A study that is known to make sense: every configuration that it may train is valid.
struct StudyPlan {
  std::string directory;
  StudyRecord record;  ///< everything but runs and rungs
  std::vector<PlannedArm> arms;
  SearchSpec search;
  std::vector<std::string> skipped;  ///< see ArmPlan
  std::uint32_t jobs = 0;            ///< runs at a time; 0: half of the cores
};

/// ConfigError as plan_arms; if the arms of a search do not train equally long; and if seeds are to
/// grow without a baseline and an arm to compare with it.
StudyPlan make_plan(const StudySpec& spec, const config::Schema& schema);

/// Whether all runs are known before the first: no search, and no seeds that grow.
bool can_be_array(const StudyPlan& plan);

/// The complete configuration of one of the study's runs.
config::RunConfig config_of(const StudyPlan& plan, const StudyRun& run);

/// The run of the plan with this arm, seed, purpose and length, whether or not the results so far
/// call for it. Absent if the plan has no such arm or seed.
std::optional<StudyRun> planned_run(const StudyPlan& plan, const StudyRun& wanted);

/// What is known of a run: whether it is settled (done, or failed for good), and its metric if it
/// is done.
struct Finding {
  bool is_settled = false;
  std::optional<double> value;
};
using ResultOf = std::function<Finding(const StudyRun&)>;

/// The record with all runs that follow from the results so far: for a grid all of them, seeds
/// outermost, so that all arms can be compared early; for a search those of the rungs that can be
/// known, and those that confirm once there is a winner; where seeds grow those up to the look that
/// settles the study, or has to wait for its runs. A pure function of plan and results: a
/// study that starts again comes to the same.
StudyRecord unfold(const StudyPlan& plan, const ResultOf& result_of);

}  // namespace impart::study
