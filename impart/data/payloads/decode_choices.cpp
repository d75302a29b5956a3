#include <limits>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/payloads/example_set.h"

namespace impart::data {

DecodeChoices decode_choices(std::uint64_t seed, std::uint32_t epoch, ExampleId id) {
  if (index(id) > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(
        fmt::format("decode_choices: example {} is beyond the end of its stream", index(id)));
  }
  // Block i of the stream, as RandomStream defines it.
  const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  const PhiloxCounter counter{static_cast<std::uint32_t>(index(id)), Purpose("decode").code(),
                              epoch, index(kAllWorkers)};
  return {.random = true, .words = philox4x32_10(counter, key)};
}

}  // namespace impart::data
