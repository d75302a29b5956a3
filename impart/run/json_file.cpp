#include "impart/run/json_file.h"

#include <nlohmann/json.hpp>

#include "impart/core/file.h"

namespace impart::run {

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  write_file(path,
             json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace impart::run
