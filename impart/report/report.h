#pragma once

#include <string>
#include <vector>

#include "impart/report/analysis.h"
#include "impart/report/document.h"
#include "impart/report/sections.h"

namespace impart::report {

/// Where a report goes, and what is in it.
struct ReportSpec {
  std::string folder;  ///< where it goes; made if it is not there
  SectionSpec sections = {};
  bool figures = true;  ///< whether gnuplot is asked to draw
};

/// The verdict and all sections, figures drawn. If gnuplot is missing the report says so and has
/// tables only. 400 runs of 100 epochs take about a second, reading included.
Document make_report(const Analysis& analysis, const ReportSpec& spec);

/// Writes report.html, report.md, tables.csv, tables.tex and figures/*.svg into the folder, each
/// complete or not at all, over those of an earlier report. IoError.
void write_report(const Analysis& analysis, const Document& document, const ReportSpec& spec);

}  // namespace impart::report
