#include "cli/io/measures.h"

#include "impart/cost/io_advice.h"

namespace impart::cli {
namespace {

double weight_bytes(const IoPrediction& prediction, config::SyncRule sync) {
  cost::WeightSpec spec{.config = prediction.config,
                        .examples = prediction.spec.examples,
                        .parameters = prediction.parameters};
  spec.config.workers.sync = sync;
  return cost::weight_bytes_per_epoch(spec);
}

}  // namespace

double share_moved(const IoPrediction& prediction, const cost::StrategyCost& cost) {
  const auto examples = static_cast<double>(prediction.spec.examples);
  return examples == 0 ? 0 : cost.later.examples_moved / examples;
}

double gradient_bytes(const IoPrediction& prediction) {
  return weight_bytes(prediction, {});
}

double weight_bytes(const IoPrediction& prediction) {
  return weight_bytes(prediction, prediction.config.workers.sync);
}

double statistics_bytes(const IoPrediction& prediction) {
  const config::WorkersConfig& workers = prediction.config.workers;
  return prediction.statistics_bytes * static_cast<double>(cost::steps_per_epoch(
                                           prediction.spec.examples, workers.count, workers.batch));
}

bool has_price(const IoPrediction& prediction) {
  return prediction.price.per_1000_reads > 0 || prediction.price.per_gigabyte > 0;
}

double money_of(const IoPrediction& prediction, const cost::IoCost& cost) {
  return cost.cache_misses / 1000 * prediction.price.per_1000_reads +
         cost.replicated_source_bytes / 1e9 * prediction.price.per_gigabyte;
}

std::string advice_of(const IoPrediction& prediction) {
  std::vector<cost::TimedStrategy> timed;
  for (const IoPrediction::Row& row : prediction.rows) {
    timed.push_back({row.strategy.name, row.cost.later.examples_moved, row.time.later});
  }
  return cost::advise(timed);
}

}  // namespace impart::cli
