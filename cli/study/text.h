#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "impart/study/record.h"
#include "impart/study/runner.h"
#include "impart/study/status.h"

namespace impart::cli {

// A study in words and tables. All text is harmless for a terminal.

struct TableSize {
  std::size_t columns = 100;
  std::size_t arms = static_cast<std::size_t>(-1);  ///< most rows; the baseline and the best stay
};

/// One row per arm: runs done, failed and running, mean ± standard deviation of the metric,
/// difference to the baseline. A star marks the best mean, "so far" while runs are missing.
std::vector<std::string> stage_table(const study::StudyRecord& record,
                                     const study::StageStatus& stage, const TableSize& size);

/// "rung of 4 epochs (search)", "confirmation on 5 new seeds"; "" for a grid.
std::string stage_title(const study::StudyRecord& record, const study::StageStatus& stage);

/// "5 of 12 runs done, 2 running, 1 failed"
std::string counts_text(const study::RunCounts& counts);

/// "stripes seed 17611: best_accuracy 83.04 (41s)", or why it failed.
std::string run_text(const study::StudyRecord& record, const study::StudyRun& run,
                     const study::RunReport& report);

/// Why runs are left, and how to go on.
std::string stop_text(const study::StudyOutcome& outcome);

/// What a search chose and how that was confirmed; empty for a grid.
std::vector<std::string> search_text(const study::StudyRecord& record,
                                     const study::StudyStatus& status);

/// How far seeds that grow have come; empty for a study that knows all of them beforehand.
std::vector<std::string> growth_text(const study::StudyRecord& record);

/// "" for a grid, " (search, 4 epochs)" and the like otherwise.
std::string purpose_text(const study::StudyRun& run);

}  // namespace impart::cli
