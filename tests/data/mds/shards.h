#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "impart/data/mds/source.h"
#include "impart/data/mds/writer.h"
#include "tests/support/temporary_folder.h"

namespace impart::testing {

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

inline std::span<const std::byte> as_span(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

inline std::string as_string(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Sample i: i + 10 bytes of the letter i, and the label i mod 7.
inline std::string letters_of(std::uint64_t i) {
  return std::string(i + 10, static_cast<char>('a' + i % 26));
}

struct ShardsSpec {
  std::uint64_t samples = 50;
  std::string compression = {};
  std::uint64_t shard_bytes = 1200;
  std::vector<std::string> hashes = {"xxh64"};
};

/// Columns `image` (bytes) and `label` (int) in several small shards.
inline void write_shards(const std::string& folder, const ShardsSpec& spec = {}) {
  std::filesystem::create_directories(folder);
  data::MdsWriter writer(folder, {.columns = {data::make_mds_column("image", "bytes"),
                                              data::make_mds_column("label", "int")},
                                  .compression = spec.compression,
                                  .hashes = spec.hashes,
                                  .shard_bytes = spec.shard_bytes});
  for (std::uint64_t i = 0; i < spec.samples; ++i) {
    const std::string image = letters_of(i), label = bytes_of(static_cast<std::int64_t>(i % 7));
    writer.add(std::vector{as_span(image), as_span(label)});
  }
  writer.finish();
}

inline std::string expected_sample(std::uint64_t i) {
  return bytes_of(static_cast<std::uint32_t>(i + 10)) + letters_of(i) +
         bytes_of(static_cast<std::int64_t>(i % 7));
}

inline std::string read_sample(const data::PayloadSource& source, std::uint64_t i) {
  std::vector<std::byte> payload(source.payload_bytes(ExampleId{i}));
  source.read(ExampleId{i}, payload);
  return as_string(payload);
}

/// Replaces bytes of a file.
inline void patch(const std::string& path, std::size_t offset, std::string_view bytes) {
  std::string content = read_text(path);
  content.replace(offset, bytes.size(), bytes);
  std::ofstream(path, std::ios::binary) << content;
}

inline void replace_in(const std::string& path, std::string_view old, std::string_view now) {
  std::string content = read_text(path);
  const std::size_t at = content.find(old);
  if (at == std::string::npos) throw std::runtime_error("nothing to replace");
  content.replace(at, old.size(), now);
  std::ofstream(path, std::ios::binary) << content;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace impart::testing
