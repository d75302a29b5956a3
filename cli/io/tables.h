#pragma once

#include "cli/io/output.h"

namespace impart::cli {

// The parts of what `impart io` prints for people, a file each.

/// What moves, what is read and written, and notes on both.
void print_bytes(const IoPrediction& prediction, const IoOutput& output);

/// Of an epoch, and the advice that follows. With IoPrediction::time.
void print_seconds(const IoPrediction& prediction);

/// What caches answer, and what reads cost; nothing if neither was asked for.
void print_caches(const IoPrediction& prediction, const IoOutput& output);

}  // namespace impart::cli
