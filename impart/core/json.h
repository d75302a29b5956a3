#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"

namespace impart {

// What reading JSON files has in common. Only sources include this: it needs nlohmann/json.

/// DataError if lists and objects are nested deeper than any of our files are. The library reads
/// any depth, but goes down the stack to copy, compare or print it.
void check_json_depth(std::string_view text, std::string_view where);

/// The value that the text is. DataError "where: …" if it is not JSON, or nested too deep.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, std::string_view where) {
  check_json_depth(text, where);
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    throw DataError(fmt::format("{}: offset {}: is not JSON", where, error.byte));
  } catch (const typename Json::exception& error) {
    throw DataError(fmt::format("{}: is not JSON: {}", where, shorten(error.what())));
  }
}

template <class Json>
std::string shown(const Json& value);

/// A whole number from 0 on. The library itself makes one of anything, of -1 and of 1e30, too.
/// DataError if it is none, or does not fit.
template <class Number = std::uint64_t, class Json>
Number whole_number(const Json& value) {
  const bool is_whole = value.is_number_unsigned();
  if (!is_whole || value.template get<std::uint64_t>() > std::numeric_limits<Number>::max()) {
    throw DataError(fmt::format("{} is not a whole number up to {}", shown(value),
                                std::numeric_limits<Number>::max()));
  }
  return value.template get<Number>();
}

/// A value as a message shows it, whatever its depth.
template <class Json>
std::string shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return shorten(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace impart
