#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace impart::data {

/// Columns of MosaicML's MDS format: every sample has one value for each. docs/formats.md gives the
/// bytes. Only the columns that are used have to be of a known encoding; others travel along.

struct MdsColumn {
  std::string name;
  std::string encoding;  ///< as the format writes it: "int", "jpeg", "ndarray:uint8:3,32,32"
  std::uint32_t fixed_bytes = 0;  ///< of every value; 0 = they differ, each sample says how many

  bool operator==(const MdsColumn&) const = default;
};

/// A column whose fixed_bytes follow from its encoding; ConfigError if that is not known.
MdsColumn make_mds_column(std::string name, std::string encoding);

/// How many bytes every value of an encoding has, 0 if they differ or the encoding is not known.
std::uint32_t mds_fixed_bytes(std::string_view encoding);

/// A sample's bytes from one value per column. ConfigError if a value does not have the fixed bytes
/// of its column.
std::vector<std::byte> join_mds_values(std::span<const MdsColumn> columns,
                                       std::span<const std::span<const std::byte>> values);

/// The value of one column of a sample. DataError unless the sizes of all its values add up to the
/// sample.
std::span<const std::byte> mds_value(std::span<const MdsColumn> columns, std::size_t column,
                                     std::span<const std::byte> sample);

/// How few bytes a sample can have.
std::uint64_t least_mds_sample(std::span<const MdsColumn> columns);

/// Which column holds the image: the one of that name, or if `name` is empty the first jpeg, else
/// png, else bytes, else ndarray column. DataError (ConfigError for a name) says what there is.
std::size_t find_mds_image(std::span<const MdsColumn> columns, std::string_view name);

/// Which column holds the class: the one of that name; or if `name` is empty the integer column
/// `label`, else `class`, else the only integer column. Errors as above.
std::size_t find_mds_label(std::span<const MdsColumn> columns, std::string_view name);

/// Labels are smaller: larger numbers are taken for damage, not for classes.
inline constexpr std::uint32_t kMostMdsClasses = 1u << 24;

/// The label in a value of an integer encoding. DataError if it is negative or too large.
std::uint32_t read_mds_label(std::string_view encoding, std::span<const std::byte> value);

/// Whether values are JPEG or PNG files (jpeg, png, bytes), to be told apart by their first bytes.
bool is_mds_photo(std::string_view encoding);

}  // namespace impart::data
