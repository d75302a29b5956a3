#pragma once

#include <optional>

#include "impart/config/rules.h"

namespace impart::config {

// What rules of more than one topic ask of a situation.

bool wants_nccl(const Situation& s);
bool is_tensors(const Situation& s);
/// As loaded, or as the name tells; none if neither says it.
std::optional<DataKind> kind_of_data(const Situation& s);
bool is_text(const Situation& s);

}  // namespace impart::config
