#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impart/data/fetch/fetch.h"

namespace impart::data {

/// A file of a fetched set, as it should be found later.
struct FetchedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const FetchedFile&) const = default;
};

struct UnpackSpec {
  std::string archive;  ///< path of a .tar.gz
  std::string folder;   ///< an existing folder for the members, without the archive's own folders
  std::span<const FetchMember> members;
};

/// Takes the members out of an archive and nothing else; returns those it had, in its order.
/// DataError, with the archive's path and a byte of the unpacked stream, if it is damaged, if a
/// member is missing, there twice or too large, or if any entry is a link or a device, has an
/// absolute path or a "..", or is so large that the archive must be meant to fill the disk.
std::vector<FetchedFile> unpack(const UnpackSpec& spec, const FetchHooks& hooks);

}  // namespace impart::data
