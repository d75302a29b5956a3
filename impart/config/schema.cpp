#include "impart/config/schema.h"

#include <fmt/format.h>

#include "impart/config/keys/keys.h"

namespace impart::config {

std::string ConfigKey::path() const {
  return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

Schema make_schema(const OwnParts& own) {
  Schema schema;
  add_run(schema);
  add_data(schema, own.data);
  add_model(schema, own.model);
  add_workers(schema);
  add_optimizer(schema);
  add_train(schema);
  add_stop(schema);
  add_placement(schema, own.rows);
  add_selection(schema, own.rows);
  add_store(schema);
  add_remote(schema);
  add_comm(schema);
  add_outputs(schema);
  return schema;
}

const Schema& common_schema() {
  static const Schema schema = make_schema();
  return schema;
}

RunConfig without_shares(RunConfig config) {
  for (const ConfigKey& key : common_schema()) {
    if (key.resolve_share) key.resolve_share(config);
  }
  return config;
}

}  // namespace impart::config
