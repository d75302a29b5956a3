// What no single key can say: values that contradict each other, and the placeholders of `output`.

#include <algorithm>

#include <fmt/format.h>

#include "impart/config/config_file.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/schedule.h"

namespace impart::config {
namespace {

/// A config that was not read from text may hold anything.
void check_every_value(const RunConfig& config, const placement::OwnRows& own) {
  RunConfig scratch;
  for (const ConfigKey& key : make_schema({.own = own})) {
    try {
      key.set(scratch, key.get(config));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", key.path(), error.what()));
    }
  }
}

void check_name(const RunConfig& config) {
  if (config.name.empty()) throw ConfigError("name is empty; reports need one");
  if (config.name.find_first_of("/{}") != std::string::npos) {
    throw ConfigError(
        fmt::format("name: '{}' has one of / {{ }}; it becomes a part of a path", config.name));
  }
  if (config.output.empty()) throw ConfigError("output is empty; expected the run directory");
}

void check_workers(const RunConfig& config) {
  const WorkersConfig& workers = config.workers;
  const bool one_model = workers.sync.kind == SyncRule::Kind::kStep;
  if (workers.batch_norm == WorkersConfig::BatchNorm::kShared && !one_model) {
    throw ConfigError(
        "workers.batch_norm: shared needs workers.sync: step; models that differ have no common "
        "statistics");
  }
}

void check_optimizer(const RunConfig& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  const bool sgd = optimizer.name == OptimizerConfig::Name::kSgd;
  if (sgd && optimizer.nesterov && optimizer.momentum == 0) {
    throw ConfigError("optimizer.nesterov: true needs optimizer.momentum above 0");
  }
  if (optimizer.warmup_epochs > config.epochs) {
    throw ConfigError(fmt::format("optimizer.warmup_epochs is {}, but epochs is {}",
                                  optimizer.warmup_epochs, config.epochs));
  }
}

void check_precision(const RunConfig& config) {
  const bool tf32 = config.precision == RunConfig::Precision::kTf32;
  if (tf32 && config.device == RunConfig::Device::kCpu) {
    throw ConfigError("precision: tf32 needs device: cuda; allowed on the CPU: fp32 | bf16");
  }
}

void check_store(const RunConfig& config) {
  const StoreConfig& store = config.store;
  const bool partitioned = store.kind == StoreConfig::Kind::kPartitioned;
  if (partitioned && store.files) {
    throw ConfigError("store.files: true needs store.kind: replicated; parts have a store.path");
  }
  if (!partitioned && !store.path.empty()) {
    throw ConfigError("store.path needs store.kind: partitioned; replicated stores have no parts");
  }
}

std::vector<placement::ScheduleEvent> schedule_of(const RunConfig& config,
                                                  const placement::OwnRows& own) {
  if (config.partition.warmup > config.epochs) {
    throw ConfigError(fmt::format(
        "partition.warmup is {}, but epochs is {}; warm up for fewer epochs, or train for more",
        config.partition.warmup, config.epochs));
  }
  try {
    return placement::make_schedule(placement::schedule_spec(placement_spec(config, own)));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("importance.ignore {}, partition.warmup {}, interval {}: {}",
                                  config.importance.ignore, config.partition.warmup,
                                  config.partition.interval, error.what()));
  }
}

void check_exchange(const RunConfig& config, const placement::OwnRows& own,
                    const std::vector<placement::ScheduleEvent>& schedule) {
  const std::string& strategy = config.exchange.strategy;
  if (strategy == kNoExchange) return;
  if (config.workers.count < 2) {
    throw ConfigError(
        fmt::format("exchange.strategy: {} needs workers.count of 2 or more", strategy));
  }
  if (config.exchange.fraction == 0) {
    throw ConfigError(
        fmt::format("exchange.strategy: {} needs exchange.fraction above 0", strategy));
  }
  const auto first =
      std::find_if(schedule.begin(), schedule.end(), [](const placement::ScheduleEvent& event) {
        return event.kind == placement::ScheduleEvent::Kind::kExchange;
      });
  if (first == schedule.end()) {
    throw ConfigError(fmt::format(
        "exchange.strategy: {} would never exchange: with epochs {}, partition.warmup {} and "
        "partition.interval {} every epoch starts with a new partition",
        strategy, config.epochs, config.partition.warmup, config.partition.interval));
  }
  const placement::ExchangeEntry& entry =
      find_entry(placement::kExchanges, own.exchanges, "exchange", strategy);
  if (entry.source == placement::ImportanceSource::kNotion &&
      config.importance.ignore >= first->epoch) {
    throw ConfigError(fmt::format(
        "exchange.strategy: {} exchanges by importance from epoch {} on, but importance.ignore is "
        "{}; ignore fewer epochs",
        strategy, first->epoch + 1, config.importance.ignore));
  }
}

}  // namespace

void validate(const RunConfig& config, const placement::OwnRows& own) {
  placement::check_rows(own);
  check_every_value(config, own);
  check_name(config);
  check_workers(config);
  check_optimizer(config);
  check_precision(config);
  check_store(config);
  check_exchange(config, own, schedule_of(config, own));
  expand_output(config);
  expand_store_path(config);
}

namespace {

std::string expand(std::string_view key, std::string_view rest, const RunConfig& config) {
  std::string expanded;
  while (true) {
    const std::size_t open = rest.find('{');
    expanded += rest.substr(0, open);
    if (open == std::string_view::npos) return expanded;
    const std::size_t close = rest.find('}', open);
    const std::string_view name = rest.substr(open, close == rest.npos ? close : close + 1 - open);
    if (name == "{name}") {
      expanded += config.name;
    } else if (name == "{seed}") {
      expanded += fmt::to_string(config.seed);
    } else {
      throw ConfigError(
          fmt::format("{}: unknown placeholder '{}'; allowed: {{name}}, {{seed}}", key, name));
    }
    rest.remove_prefix(close + 1);
  }
}

}  // namespace

std::string expand_output(const RunConfig& config) {
  return expand("output", config.output, config);
}

std::string expand_store_path(const RunConfig& config) {
  return expand("store.path", config.store.path, config);
}

}  // namespace impart::config
