#include "impart/core/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/json.h"

namespace impart {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written in native order");

using Json = nlohmann::ordered_json;

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 16 << 20;

struct TypeRow {
  ElementType type;
  std::string_view name;
  std::uint64_t width;
};

constexpr TypeRow kTypes[] = {
    {ElementType::kF64, "F64", 8},   {ElementType::kF32, "F32", 4}, {ElementType::kF16, "F16", 2},
    {ElementType::kBF16, "BF16", 2}, {ElementType::kI64, "I64", 8}, {ElementType::kI32, "I32", 4},
    {ElementType::kI16, "I16", 2},   {ElementType::kI8, "I8", 1},   {ElementType::kU64, "U64", 8},
    {ElementType::kU32, "U32", 4},   {ElementType::kU16, "U16", 2}, {ElementType::kU8, "U8", 1},
    {ElementType::kBool, "BOOL", 1},
};

const TypeRow& row_of(ElementType type) {
  return *std::ranges::find(kTypes, type, &TypeRow::type);
}

/// Bytes of a tensor, or nothing if that does not fit 64 bits.
std::optional<std::uint64_t> bytes_of(ElementType type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = width_of(type);
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

void check_tensors(const std::string& path, std::span<const TensorView> tensors) {
  std::set<std::string_view> names = {kMetadataKey};
  for (const TensorView& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw ConfigError(fmt::format("{}: a second tensor named '{}'", path, tensor.name));
    }
    if (bytes_of(tensor.type, tensor.shape) != tensor.data.size()) {
      throw ConfigError(fmt::format("{}: tensor '{}' has {} bytes, which is not its shape's size",
                                    path, tensor.name, tensor.data.size()));
    }
  }
}

/// The positions of the tensors in the order in which their data is written.
std::vector<std::size_t> data_order(std::span<const TensorView> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return width_of(tensors[i].type); });
  return order;
}

/// Json::exception if a name or the metadata are not UTF-8.
std::string make_header(std::span<const TensorView> tensors, std::span<const std::size_t> order,
                        const TensorMetadata& metadata) {
  std::vector<std::uint64_t> begins(tensors.size());
  std::uint64_t end = 0;
  for (const std::size_t i : order) begins[i] = std::exchange(end, end + tensors[i].data.size());

  Json header = Json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& tensor = tensors[i];
    header[tensor.name] = {{"dtype", name_of(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {begins[i], begins[i] + tensor.data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw DataError(
      fmt::format("{}: not a usable safetensors file: at byte {}: {}", path, offset, what));
}

/// The text of the header, which begins behind the length.
std::string_view header_of(const InputFile& file) {
  const std::uint64_t size = file.bytes().size();
  if (size < kLengthBytes) fail(file.path(), 0, "no room for the length of a header");
  std::uint64_t length = 0;
  std::memcpy(&length, file.bytes().data(), kLengthBytes);
  if (length > kLongestHeader || length > size - kLengthBytes) {
    fail(file.path(), 0, fmt::format("a header of {} bytes in a file of {}", length, size));
  }
  return file.text().substr(kLengthBytes, length);
}

Json parse_header(const std::string& path, std::string_view text) {
  check_json_depth(text, path + ": its header");
  std::set<std::string> names;
  const auto remember_names = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const bool is_name = event == Json::parse_event_t::key && depth == 1;
    if (is_name && !names.insert(parsed.get<std::string>()).second) {
      fail(path, kLengthBytes, fmt::format("two tensors named '{}'", parsed.get<std::string>()));
    }
    return true;
  };
  Json header = Json::parse(text, remember_names, /*allow_exceptions=*/false);
  if (!header.is_object()) fail(path, kLengthBytes, "its header is not a JSON object");
  return header;
}

TensorMetadata parse_metadata(const std::string& path, const Json& header) {
  TensorMetadata metadata;
  const auto found = header.find(kMetadataKey);
  if (found == header.end()) return metadata;
  if (!found->is_object()) fail(path, kLengthBytes, "__metadata__ is not an object");
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      fail(path, kLengthBytes, fmt::format("__metadata__ '{}' is not a text", key));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// The list of whole numbers from 0 under `key`, or nothing if it is not one.
std::optional<std::vector<std::uint64_t>> parse_numbers(const Json& tensor, const char* key) {
  const auto list = tensor.find(key);
  if (list == tensor.end() || !list->is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const Json& number : *list) {
    if (!number.is_number_unsigned()) return std::nullopt;
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

TensorView parse_tensor(const std::string& path, const std::string& name, const Json& entry,
                        std::span<const std::byte> data) {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) fail(path, kLengthBytes, fmt::format("tensor '{}': {}", name, what));
  };
  require(entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string(), "no dtype");
  const auto type_name = entry["dtype"].get<std::string>();
  const auto* type = std::ranges::find(kTypes, type_name, &TypeRow::name);
  require(type != std::end(kTypes), fmt::format("unknown dtype '{}'", type_name));
  const auto shape = parse_numbers(entry, "shape");
  require(shape.has_value(), "its shape is not a list of whole numbers from 0");
  const auto offsets = parse_numbers(entry, "data_offsets");
  require(offsets && offsets->size() == 2, "its data_offsets are not two whole numbers from 0");
  const std::uint64_t begin = offsets->front(), end = offsets->back();
  require(begin <= end && end <= data.size(),
          fmt::format("bytes {}..{} are not within the {} of data", begin, end, data.size()));
  require(bytes_of(type->type, *shape) == end - begin,
          fmt::format("its {} bytes are not the size of its shape", end - begin));
  return {name, type->type, *shape, data.subspan(begin, end - begin)};
}

void check_cover(const std::string& path, std::span<const TensorView> tensors,
                 std::span<const std::byte> data, std::uint64_t data_start) {
  std::vector<std::span<const std::byte>> pieces;
  for (const TensorView& tensor : tensors) pieces.push_back(tensor.data);
  std::ranges::sort(pieces, {}, [](auto piece) { return std::pair(piece.data(), piece.size()); });
  std::uint64_t covered = 0;
  for (const auto piece : pieces) {
    if (piece.data() != data.data() + covered) break;
    covered += piece.size();
  }
  std::uint64_t total = 0;
  for (const auto piece : pieces) total += piece.size();
  if (covered != data.size() || total != covered) {
    fail(path, data_start + covered, "the tensors leave a gap here, or overlap");
  }
}

}  // namespace

std::string_view name_of(ElementType type) {
  return row_of(type).name;
}

std::uint64_t width_of(ElementType type) {
  return row_of(type).width;
}

void write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata) {
  check_tensors(path, tensors);
  const std::vector<std::size_t> order = data_order(tensors);
  std::string header;
  try {
    header = make_header(tensors, order, metadata);
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{}: names must be UTF-8: {}", path, error.what()));
  }
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const std::size_t i : order) file.write(tensors[i].data);
  file.commit();
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::string_view text = header_of(file_);
  const std::uint64_t data_start = kLengthBytes + text.size();
  const std::span<const std::byte> data = file_.bytes().subspan(data_start);
  const Json header = parse_header(path, text);
  metadata_ = parse_metadata(path, header);
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) continue;
    positions_.emplace(name, tensors_.size());
    tensors_.push_back(parse_tensor(path, name, entry, data));
  }
  check_cover(path, tensors_, data, data_start);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace impart
