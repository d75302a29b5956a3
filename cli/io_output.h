#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impart/study/io_cost.h"
#include "impart/study/io_strategies.h"
#include "impart/study/run_io.h"

namespace impart::cli {

enum class IoFormat { kTable, kCsv, kJson };

struct IoOutput {
  IoFormat format = IoFormat::kTable;
  bool raw_bytes = false;  ///< in the table
};

/// What `impart io` found out about strategies.
struct IoPrediction {
  struct Row {
    IoStrategy strategy;
    StrategyCost cost;
  };
  IoSpec spec;
  RunConfig base;
  std::uint64_t parameters = 0;  ///< of the model; 0: not asked for
  std::vector<Row> rows;
};

void print_prediction(const IoPrediction& prediction, const IoOutput& output);
void print_comparisons(const std::vector<RunIo>& runs, const IoOutput& output);

}  // namespace impart::cli
