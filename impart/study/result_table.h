#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "impart/run/run_files.h"
#include "impart/run/summary.h"
#include "impart/study/record.h"

namespace impart::study {

// What the finished runs of a study came to, in one CSV file that needs no run directories: to be
// kept in git, reported, and gone on from elsewhere. docs/formats.md, "Results of a study".

/// A finished run.
struct ResultRow {
  StudyRun run;  ///< without its folder
  run::Build build = {};
  run::SummaryFile summary = {};
  std::size_t line = 0;  ///< of the file it was read from
};

struct ResultTable {
  /// What reports need to know. Its arms are those with rows; without runs, and of seeds that grow
  /// only the planned looks.
  StudyRecord study;
  std::vector<ResultRow> rows;  ///< by arm, then seed; none twice
};

/// DataError names file and line: a field that is not what its column says, a row that is there
/// twice, rows of different studies, a last line that was cut off.
ResultTable read_result_table(const std::string& path);

/// The table as the text of a file. Numbers that no row has get no column, but for the metric.
std::string to_csv(const ResultTable& table);

/// The row of a run; nullptr if there is none with its configuration.
const ResultRow* find_row(const ResultTable& table, const StudyRun& run);

/// Puts a row in its place; the table must not have one of that run.
void add_row(ResultTable& table, ResultRow row);

}  // namespace impart::study
