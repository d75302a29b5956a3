#include "impart/data/mds/array.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

/// How the first byte of a value names its type.
struct ElementType {
  std::string_view name;
  std::uint8_t code;
  std::uint32_t bytes;
};

constexpr ElementType kElementTypes[] = {
    {"uint8", 8, 1},    {"int8", 9, 1},    {"uint16", 16, 2},  {"int16", 17, 2},
    {"float16", 18, 2}, {"uint32", 32, 4}, {"int32", 33, 4},   {"float32", 34, 4},
    {"uint64", 64, 8},  {"int64", 65, 8},  {"float64", 66, 8},
};

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint32_t>::max();

const ElementType& type_named(std::string_view name) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == name) return type;
  }
  throw DataError(fmt::format("arrays of '{}' are not known", name));
}

const ElementType& type_coded(std::uint8_t code) {
  for (const ElementType& type : kElementTypes) {
    if (type.code == code) return type;
  }
  throw DataError(fmt::format("an array of type {}, which is not known", code));
}

/// Bytes of an array; DataError from 4 GiB on, which no column can hold.
std::uint64_t array_bytes(const ElementType& type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = type.bytes;
  for (const std::uint64_t extent : shape) {
    if (extent == 0 || extent > kMostBytes / bytes) {
      throw DataError(fmt::format("an array of shape ({})", fmt::join(shape, ", ")));
    }
    bytes *= extent;
  }
  return bytes;
}

std::vector<std::uint64_t> parse_shape(std::string_view text, std::string_view encoding) {
  std::vector<std::uint64_t> shape;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    const auto [next, error] = std::from_chars(at, end, shape.emplace_back());
    if (error != std::errc{} || (next != end && *next != ',')) {
      throw DataError(fmt::format("encoding '{}' has no shape like 3,32,32", encoding));
    }
    if (next == end) return shape;
    at = next + 1;
  }
}

/// Takes bytes off the front of a value.
class ValueFront {
 public:
  explicit ValueFront(std::span<const std::byte> value) : rest_(value) {}

  std::uint64_t take_number(std::size_t bytes) {
    if (rest_.size() < bytes) throw DataError("an array that ends within its shape");
    std::uint64_t number = 0;
    std::memcpy(&number, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
    return number;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

std::uint32_t side(std::uint64_t extent) {
  constexpr std::uint64_t kLargest = 1u << 16;
  if (extent > kLargest) throw DataError(fmt::format("an image with a side of {}", extent));
  return static_cast<std::uint32_t>(extent);
}

bool is_channels(std::uint64_t extent) {
  return extent == 1 || extent == 3;
}

}  // namespace

std::uint32_t MdsArrayEncoding::fixed_bytes() const {
  if (type.empty() || shape.empty()) return 0;
  return static_cast<std::uint32_t>(array_bytes(type_named(type), shape));
}

MdsArrayEncoding parse_mds_array_encoding(std::string_view encoding) {
  constexpr std::string_view kName = "ndarray";
  if (encoding == kName) return {};
  if (!encoding.starts_with("ndarray:")) {
    throw DataError(fmt::format("encoding '{}' is no array", encoding));
  }
  const std::string_view rest = encoding.substr(kName.size() + 1);
  const std::size_t colon = rest.find(':');
  MdsArrayEncoding result{.type = std::string(type_named(rest.substr(0, colon)).name)};
  if (colon != std::string_view::npos) result.shape = parse_shape(rest.substr(colon + 1), encoding);
  result.fixed_bytes();  // checks the shape
  return result;
}

MdsArray view_mds_array(const MdsArrayEncoding& encoding, std::span<const std::byte> value) {
  ValueFront front(value);
  const ElementType& type = encoding.type.empty()
                                ? type_coded(static_cast<std::uint8_t>(front.take_number(1)))
                                : type_named(encoding.type);
  std::vector<std::uint64_t> shape = encoding.shape;
  if (shape.empty()) {
    // Two bits for the width of the extents, six for how many there are.
    const std::uint64_t code = front.take_number(1);
    shape.resize(code >> 2);
    for (std::uint64_t& extent : shape) extent = front.take_number(std::size_t{1} << (code & 3));
  }
  if (array_bytes(type, shape) != front.rest().size()) {
    throw DataError(fmt::format("an array of shape ({}) of {} in {} bytes", fmt::join(shape, ", "),
                                type.name, front.rest().size()));
  }
  return {.type = std::string(type.name), .shape = std::move(shape), .elements = front.rest()};
}

MdsImageLayout mds_image_layout(std::string_view type, std::span<const std::uint64_t> shape) {
  if (type == "uint8" && shape.size() == 2) {
    return {.channels = 1, .height = side(shape[0]), .width = side(shape[1])};
  }
  const bool planes = type == "uint8" && shape.size() == 3 && is_channels(shape[0]);
  const bool pixels = type == "uint8" && shape.size() == 3 && is_channels(shape[2]);
  if (planes) {
    return {.channels = side(shape[0]), .height = side(shape[1]), .width = side(shape[2])};
  }
  if (pixels) {
    return {.channels = side(shape[2]),
            .height = side(shape[0]),
            .width = side(shape[1]),
            .planes = false};
  }
  throw DataError(
      fmt::format("an array of {} of shape ({}) is no image: 3,H,W or H,W,3 or 1,H,W "
                  "or H,W of uint8 are",
                  type, fmt::join(shape, ", ")));
}

}  // namespace impart::data
