#include "impart/core/npy.h"

#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written in native order");

constexpr std::string_view kMagic = "\x93NUMPY";

/// What follows `'key':` in the header's Python dictionary, without leading blanks.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 2);
  const std::size_t start = rest.find_first_not_of(" :");
  if (start == std::string_view::npos) return std::nullopt;
  return rest.substr(start);
}

std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  if (text.empty() || text[0] != '(' || text.find(')') == std::string_view::npos)
    return std::nullopt;
  text = text.substr(1, text.find(')') - 1);
  std::vector<std::uint64_t> shape;
  while (true) {
    const std::size_t start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos) return shape;
    text = text.substr(start);
    std::uint64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{}) return std::nullopt;
    shape.push_back(extent);
    text = text.substr(static_cast<std::size_t>(end - text.data()));
  }
}

/// Bytes of `elements` numbers as the product of a shape, or nothing if that overflows.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape,
                                      std::uint64_t width) {
  std::uint64_t bytes = width;
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::uint64_t NpyArray::size() const {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape) product *= extent;
  return product;
}

NpyArray parse_npy(const InputFile& file) {
  const auto damaged = [&](std::string_view what) {
    return DataError(fmt::format("{}: not a usable .npy file: {}", file.path(), what));
  };
  const std::string_view text = file.text();
  if (text.size() < 10 || !text.starts_with(kMagic)) throw damaged("no NumPy header");
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const int version = byte(6);
  if (version < 1 || version > 3) throw damaged(fmt::format("format version {}", version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) throw damaged("truncated in its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= std::size_t{byte(10)} << 16 | std::size_t{byte(11)} << 24;
  if (text.size() - start < length) throw damaged("truncated in its header");
  const std::string_view header = text.substr(start, length);

  const auto descr = value_of(header, "descr");
  const auto order = value_of(header, "fortran_order");
  const auto shape_text = value_of(header, "shape");
  const auto shape = shape_text ? parse_shape(*shape_text) : std::nullopt;
  if (!descr || descr->size() < 5 || !order || !shape)
    throw damaged("header without type or shape");
  NpyArray array{.type = std::string(descr->substr(2, 2)),
                 .shape = *shape,
                 .fortran_order = order->starts_with("True"),
                 .data = file.bytes().subspan(start + length)};
  const char byte_order = (*descr)[1];
  const int width = array.type[1] - '0';
  const bool known_width =
      (*descr)[4] == '\'' && (width == 1 || width == 2 || width == 4 || width == 8);
  if (std::string_view("fiub").find(array.type[0]) == std::string_view::npos || !known_width) {
    throw damaged("its elements are not plain numbers");
  }
  if (byte_order != '<' && byte_order != '|') throw damaged("its numbers are not little-endian");
  const auto expected = bytes_of(array.shape, static_cast<std::uint64_t>(width));
  if (!expected || *expected != array.data.size()) {
    throw DataError(
        fmt::format("{}: its header promises {} bytes of data, but there are {}: {}", file.path(),
                    expected ? fmt::to_string(*expected) : "too many", array.data.size(),
                    expected && *expected < array.data.size() ? "bytes left over" : "truncated"));
  }
  return array;
}

std::string npy_header(std::string_view type, std::span<const std::uint64_t> shape) {
  std::string extents;
  for (const std::uint64_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.resize(extents.size() - 1);
  std::string dictionary =
      fmt::format("{{'descr': '<{}', 'fortran_order': False, 'shape': ({}), }}", type, extents);
  const std::size_t unpadded = kMagic.size() + 4 + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xFF),
             static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary;
}

}  // namespace impart
