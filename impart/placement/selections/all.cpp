#include "impart/placement/selections.h"

namespace impart::placement {

Selected visit_all(const SelectionInput& input, const SelectionSpec&) {
  return {.visits = input.parts};
}

}  // namespace impart::placement
