#include "tests/fuzz/targets.h"

#include "impart/core/error.h"

namespace impart::fuzz {

void try_input(const TargetRow& target, Bytes input) {
  try {
    target.read(input);
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
}

}  // namespace impart::fuzz
