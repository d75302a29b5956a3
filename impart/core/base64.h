#pragma once

#include <string>
#include <string_view>

namespace impart {

/// Bytes as letters, with padding: RFC 4648, section 4.
std::string to_base64(std::string_view bytes);

/// The bytes again. DataError if it is not such a text.
std::string from_base64(std::string_view text);

}  // namespace impart
