#pragma once

#include <string>

#include "cli/terminal/terminal.h"
#include "impart/study/runner.h"

namespace impart::cli {

/// Shows a study on stderr while it runs: on a terminal a table that is painted over in place,
/// elsewhere one plain line per run that ended.
class StudyDisplay {
 public:
  explicit StudyDisplay(Verbosity verbosity) : verbosity_(verbosity) {}
  /// Calls this display, which must outlive it.
  study::StudyObserver observer();

 private:
  void show_end(const study::StudyProgress& progress, std::size_t run);
  void print_line(const std::string& line);
  void paint(const study::StudyProgress& progress);

  const Verbosity verbosity_;
  const Terminal terminal_ = look_at_terminal();
  Painting painting_;
};

}  // namespace impart::cli
