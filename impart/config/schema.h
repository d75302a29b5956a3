#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/config/config.h"
#include "impart/config/value_rules.h"
#include "impart/placement/own_rows.h"

namespace impart::config {

/// The names of tables that this layer cannot see because they need a tensor library. The views
/// must live as long as the schema made from them. An empty table allows any name; `own` adds to
/// the tables that are seen.
struct KnownNames {
  std::span<const std::string_view> datasets = {};
  std::span<const std::string_view> augmentations = {};
  std::span<const std::string_view> models = {};
  std::span<const std::string_view> tokenizers = {};
  std::span<const std::string_view> language_models = {};  ///< of the models: judged by perplexity
  placement::OwnRows own = {};                             ///< besides those of impart's tables
};

/// One key of the configuration: all that parsing, printing, help and documentation need to know.
struct ConfigKey {
  std::string_view section;  ///< "" at the top level
  std::string_view name;
  std::string_view help;  ///< one line
  std::string allowed;    ///< "1 or more", "fp32 | tf32 | bf16"
  bool is_list = false;   ///< takes any number of values, not exactly one
  /// False for keys that only say where a run works, how it is called and what else it writes.
  bool changes_result = true;
  /// Reads the value into the config. ConfigError says what was found and what is allowed.
  std::function<void(RunConfig&, const WrittenValue&)> set;
  std::function<WrittenValue(const RunConfig&)> get;

  /// "workers.count"
  std::string path() const;
};

/// All keys, in the order of the file: the keys of a section stand together.
using Schema = std::vector<ConfigKey>;

/// The one description of the configuration. A new key is a member in config/config.h and a line
/// here.
Schema make_schema(const KnownNames& names);

}  // namespace impart::config
