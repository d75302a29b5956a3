#pragma once

#include <string>
#include <string_view>

namespace impart::data {

/// Whether a data.root names a server rather than a folder: it begins with https://, http://,
/// s3://, or another scheme, which is a fault.
bool is_remote(std::string_view root);

/// What is wrong with such a root, as a sentence; "" if nothing is. A name or password in it would
/// be written into every run directory, and so would the tokens of a query: both are refused.
/// The sentence never repeats the root.
std::string find_fault_in_root(std::string_view root);

/// A folder on a server.
struct ObjectUrl {
  enum class Kind { kHttp, kS3 };
  Kind kind = Kind::kHttp;
  std::string shown;   ///< as the user gave it, without slashes at the end: for messages
  std::string bucket;  ///< of s3
  std::string prefix;  ///< of s3: keys begin with it; without slashes around it
};

/// ConfigError with find_fault_in_root's sentence.
ObjectUrl parse_object_url(std::string_view root);

/// The name as part of a URL: what is neither letter, digit, nor one of -._~/ becomes %XX.
std::string escape_name(std::string_view name);

}  // namespace impart::data
