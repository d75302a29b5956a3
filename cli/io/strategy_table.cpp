#include "cli/io/strategy_table.h"

#include <utility>

#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {

std::string strategy_table(const IoPrediction& prediction,
                           const std::vector<StrategyColumn>& columns, bool wide) {
  std::vector<std::string> heads = {"strategy"};
  for (const StrategyColumn& column : columns) {
    if (wide || column.narrow) heads.push_back(column.head);
  }
  TextTable table(heads);
  for (const IoPrediction::Row& row : prediction.rows) {
    std::vector<std::string> cells = {row.strategy.name};
    for (const StrategyColumn& column : columns) {
      if (wide || column.narrow) cells.push_back(column.text(row));
    }
    table.add(cells);
  }
  return table.text();
}

StrategyColumn bytes_column(std::string head, bool narrow, double cost::IoCost::*value, bool raw) {
  cost::IoCost cost::StrategyCost::*of =
      head.ends_with("/run") ? &cost::StrategyCost::run : &cost::StrategyCost::later;
  return {std::move(head), narrow,
          [=](const IoPrediction::Row& row) { return bytes_text((row.cost.*of).*value, raw); }};
}

StrategyColumn count_column(std::string head, double cost::IoCost::*value) {
  return {std::move(head), true,
          [=](const IoPrediction::Row& row) { return count_text(row.cost.later.*value); }};
}

}  // namespace impart::cli
