#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "impart/core/progress.h"

struct evp_md_ctx_st;

namespace impart::data {

/// A SHA-256 sum under way.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits, of everything added. Ends the sum: nothing may be added afterwards.
  std::string finish();

 private:
  evp_md_ctx_st* context_;
};

/// Reads the whole file. DataError if it cannot be read.
std::string sha256_of_file(const std::string& path, const Progress& progress = {});

/// The sums in a file as sha256sum writes it: "DIGITS  NAME" or "DIGITS *NAME" on every line; blank
/// lines and lines that begin with '#' do not count. Names without their folder → digits in lower
/// case. DataError names the line that is anything else, or that contradicts another.
std::map<std::string, std::string> read_sums(const std::string& path);

}  // namespace impart::data
