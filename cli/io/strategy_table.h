#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/io/output.h"

namespace impart::cli {

/// A column of a table of strategies, and whether a narrow table has it, too.
struct StrategyColumn {
  std::string head;
  bool narrow;
  std::function<std::string(const IoPrediction::Row&)> text;
};

/// A line for each strategy of the prediction.
std::string strategy_table(const IoPrediction& prediction,
                           const std::vector<StrategyColumn>& columns, bool wide);

/// A column of bytes: of the mean epoch, or of the run if its head ends with "/run".
StrategyColumn bytes_column(std::string head, bool narrow, double cost::IoCost::*value, bool raw);

/// A column of a count, of the mean epoch.
StrategyColumn count_column(std::string head, double cost::IoCost::*value);

}  // namespace impart::cli
