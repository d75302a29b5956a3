#pragma once

#include <memory>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// Copies tokens, and zeros behind the end. DataError if a payload is longer than a row or has half
/// a token.
std::shared_ptr<const PayloadDecoder> make_token_decoder();

}  // namespace impart::data
