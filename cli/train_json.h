// What `impart train --json` prints on stdout: one JSON object per line (docs/formats.md).
#pragma once

#include "cli/train.h"
#include "impart/train/run.h"

namespace impart::cli {

/// Prints what happens in a run. The request must outlive it.
train::RunObserver json_observer(const TrainRequest& request);

/// Prints how it ended.
void print_json_end(const TrainRequest& request, const train::RunOutcome& outcome);

}  // namespace impart::cli
