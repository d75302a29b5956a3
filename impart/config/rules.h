#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "impart/config/config.h"
#include "impart/config/schema.h"
#include "impart/data/task.h"

namespace impart::config {

// What goes with what: one table, judged wherever a configuration is met (load_config, --dry-run,
// plans of studies), and again in a run as soon as more is known. Values that are wrong on their
// own are the schema's.

/// What is known of the examples once they are loaded.
struct DataFacts {
  std::uint64_t examples = 0;             ///< to train on
  std::optional<data::Input> input = {};  ///< none: tensors that are neither images nor tokens
  data::Task task = data::kClasses;
  bool is_tensors = false;  ///< a program's own tensors, in memory on every process
  bool has_truth = false;   ///< it is known how hard each example is
};

/// What is known besides the configuration. A rule that needs what is missing is not judged yet.
struct Facts {
  OwnParts own = {};
  std::optional<bool> has_gpu = {};  ///< whether a CUDA device can be used
  /// Whether the CPU multiplies bfloat16: that of the machine that trains, so only a run knows it.
  std::optional<bool> cpu_has_bf16 = {};
  std::optional<std::uint32_t> processes = {};
  std::optional<DataFacts> data = {};
  /// Whether a kernel changes the weights after each step: the engine knows, from its kernels and
  /// the size of a step.
  std::optional<bool> updates_on_device = {};
};

/// A configuration that is judged.
struct Situation {
  const RunConfig& config;
  const Facts& facts;
};

struct Rule {
  std::string_view name;                 ///< "precision-of-cpu", for tests
  std::array<std::string_view, 5> keys;  ///< those that a user may have to change; "" at the end
  bool (*is_broken)(const Situation&);   ///< false if a fact is missing
  /// One sentence that names a key, what was found and what is allowed. Only if it is broken.
  std::string (*message)(const Situation&);
};

/// All rules. Each takes those before it for granted.
std::span<const Rule> all_rules();

/// The first rule that is broken; nullptr if none is.
const Rule* find_broken_rule(const RunConfig& config, const Facts& facts = {});

/// ConfigError with the message of the first rule that is broken.
void check_rules(const RunConfig& config, const Facts& facts = {});

/// What the examples of the data set that the config names are to a model; none for a name of a
/// program's own.
struct DataKind {
  data::Input input;
  data::Task task;
};
std::optional<DataKind> find_data_kind(const DataConfig& data);

}  // namespace impart::config
