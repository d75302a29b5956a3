#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "impart/config/config.h"
#include "impart/config/value_rules.h"
#include "impart/placement/own_rows.h"

namespace impart::config {

/// What a program brings along for its runs, besides the rows of impart's tables.
struct OwnParts {
  placement::OwnRows rows = {};  ///< a config may name them
  bool model = false;            ///< its model is trained: model.name may be any text
  bool data = false;             ///< its data is trained on: data.name may be any text
};
/// For configs whose program is not known, such as those of finished runs.
inline const OwnParts kAnyProgram = {.rows = {}, .model = true, .data = true};

/// One key of the configuration: all that parsing, printing, help and documentation need to know.
struct ConfigKey {
  std::string_view section;  ///< "" at the top level
  std::string_view name;
  std::string_view help;     ///< one line
  std::string allowed;       ///< "1 or more", "fp32 | tf32 | bf16"
  bool is_list = false;      ///< takes any number of values, not exactly one
  bool joins_lists = false;  ///< takes several values, too, as one with commas between
  /// False for keys that only say where a run works, how it is called and what else it writes.
  bool changes_result = true;
  /// False for keys that came when there were runs already: at its default such a key leaves
  /// config_hash what it was.
  bool counts_at_default = true;
  /// Reads the value into the config. ConfigError says what was found and what is allowed.
  std::function<void(RunConfig&, const WrittenValue&)> set;
  std::function<WrittenValue(const RunConfig&)> get;
  /// Makes a number of a share of the run; empty for keys that do not count epochs.
  std::function<void(RunConfig&)> resolve_share = {};

  /// "workers.count"
  std::string path() const;
};

/// All keys, in the order of the file: the keys of a section stand together.
using Schema = std::vector<ConfigKey>;

/// The one description of the configuration, its names those of the tables and the program's own. A
/// new key is a member in config.h and a line in keys/.
Schema make_schema(const OwnParts& own = {});

/// make_schema(), made once: for what is asked of every run of a study.
const Schema& common_schema();

/// The same config with numbers of epochs in place of shares of the run.
RunConfig without_shares(RunConfig config);

}  // namespace impart::config
