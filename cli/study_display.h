#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "impart/study/runner.h"

namespace impart::cli {

/// Shows a study on stderr while it runs: on a terminal a table that is painted over in place,
/// elsewhere one plain line per run that ended.
class StudyDisplay {
 public:
  StudyDisplay();
  /// Takes the table away.
  ~StudyDisplay();
  StudyDisplay(const StudyDisplay&) = delete;
  StudyDisplay& operator=(const StudyDisplay&) = delete;

  /// Calls this display, which must outlive it.
  study::StudyObserver observer();

 private:
  void show_end(const study::StudyProgress& progress, std::size_t run);
  void print_line(const std::string& line);
  void paint(const study::StudyProgress& progress);
  void write_painting(const std::vector<std::string>& lines);

  const bool on_terminal_;
  std::vector<std::string> painted_;  ///< the lines that stand above the cursor
};

}  // namespace impart::cli
