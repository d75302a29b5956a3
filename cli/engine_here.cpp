// For impart-engine, which has every command itself.

#include "cli/engine.h"

namespace impart::cli {

void hand_over_to_engine(int, char**) {}

}  // namespace impart::cli
