#pragma once

#include <cstdint>
#include <memory>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// The decoder of payloads that already are the pixels, `image_bytes` of them; DataError if there
/// are more or fewer. It leaves nothing to chance, whatever the choices are.
std::shared_ptr<const PayloadDecoder> make_raw_decoder(std::uint64_t image_bytes);

}  // namespace impart::data
