#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "impart/cost/epoch_time.h"
#include "impart/cost/io_cost.h"
#include "impart/cost/io_strategies.h"
#include "impart/cost/run_io.h"

namespace impart::cli {

enum class IoFormat { kTable, kCsv, kJson };

struct IoOutput {
  IoFormat format = IoFormat::kTable;
  bool raw_bytes = false;  ///< in the table
  bool wide = false;       ///< all columns, wider than 100 letters
};

/// What reading from an object store costs, in any currency; 0: nobody asked.
struct SourcePrice {
  double per_1000_reads = 0, per_gigabyte = 0;
};

/// What `impart io` found out about strategies.
struct IoPrediction {
  struct Row {
    cost::IoStrategy strategy;
    cost::StrategyCost cost;
    cost::StrategyTime time = {};  ///< with IoPrediction::time
  };
  cost::IoSpec spec;
  placement::PlacementSpec base;
  config::RunConfig config;                 ///< what is asked about
  std::uint64_t parameters = 0;             ///< of the model; 0: not asked for
  double statistics_bytes = 0;              ///< of batch norms, per step
  std::optional<cost::TimeSpec> time = {};  ///< none: seconds were not asked for
  SourcePrice price = {};
  std::vector<Row> rows;
};

/// Tables are sorted: by what an epoch takes, or else by what it sends.
void print_prediction(const IoPrediction& prediction, const IoOutput& output);
void print_comparisons(const std::vector<cost::RunIo>& runs, const IoOutput& output);

}  // namespace impart::cli
