#include <fmt/format.h>

#include "impart/config/config_file.h"
#include "impart/config/placeholders.h"
#include "impart/config/rules.h"
#include "impart/core/error.h"

namespace impart::config {
namespace {

/// A config that was not read from text may hold anything.
void check_every_value(const RunConfig& config, const OwnParts& own) {
  RunConfig scratch;
  for (const ConfigKey& key : make_schema(own)) {
    try {
      key.set(scratch, key.get(config));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", key.path(), error.what()));
    }
  }
}

}  // namespace

void validate(const RunConfig& config, const OwnParts& own) {
  placement::check_rows(own.rows);
  check_every_value(config, own);
  check_rules(config, {.own = own});
}

std::string expand_output(const RunConfig& config) {
  return fill_in_placeholders("output", config.output, config);
}

std::string expand_store_path(const RunConfig& config) {
  return fill_in_placeholders("store.path", config.store.path, config);
}

}  // namespace impart::config
