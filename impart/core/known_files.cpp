#include "impart/core/known_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "impart/core/error.h"

namespace impart {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 5;

bool matches(const std::string& pattern, const std::string& path) {
  return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

bool is_known_file(const std::string& path, std::span<const char* const> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string pattern) {
    return matches(pattern, path) || matches(pattern + ".[0-9]*.tmp", path);
  });
}

bool is_on_the_way(const std::string& path, std::string pattern) {
  while (true) {
    const std::size_t slash = pattern.rfind('/');
    if (slash == std::string::npos) return false;
    pattern.resize(slash);
    if (matches(pattern, path)) return true;
  }
}

bool is_known_folder(const std::string& path, std::span<const char* const> patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const char* pattern) { return is_on_the_way(path, pattern); });
}

class Sorter {
 public:
  Sorter(const std::string& folder, std::span<const char* const> patterns)
      : root_(folder), patterns_(patterns) {}

  KnownFiles sort() {
    visit("");
    return std::move(files_);
  }

 private:
  void visit(const std::string& inside) {
    std::vector<fs::directory_entry> entries;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ / inside, error))
      entries.push_back(entry);
    if (error) {
      throw DataError(
          fmt::format("{}: cannot be read: {}", (root_ / inside).string(), error.message()));
    }
    std::sort(entries.begin(), entries.end());
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      sort_one(entry, inside.empty() ? name : inside + "/" + name);
    }
  }

  void sort_one(const fs::directory_entry& entry, const std::string& path) {
    const fs::file_status status = entry.symlink_status();
    const bool is_folder = fs::is_directory(status);
    const bool known = is_folder ? is_known_folder(path, patterns_)
                                 : fs::is_regular_file(status) && is_known_file(path, patterns_);
    if (is_folder) visit(path);
    // A foreign folder is named by what is in it.
    const bool has_more = is_folder && !known && !fs::is_empty(entry.path());
    if (!has_more) (known ? files_.known : files_.foreign).push_back(path);
  }

  const fs::path root_;
  std::span<const char* const> patterns_;
  KnownFiles files_;
};

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

KnownFiles sort_files(const std::string& folder, std::span<const char* const> patterns) {
  return Sorter(folder, patterns).sort();
}

std::string list_some(std::span<const std::string> names) {
  const auto named = names.first(std::min(names.size(), kMostNamed));
  const std::string more =
      names.size() > kMostNamed ? fmt::format(" and {} more", names.size() - kMostNamed) : "";
  return fmt::format("{}{}", fmt::join(named, ", "), more);
}

void remove_known(const std::string& folder, const KnownFiles& files) {
  for (const std::string& name : files.known) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    fs::remove(path, error);
    if (error) throw IoError(fmt::format("{}: cannot remove: {}", path.string(), error.message()));
  }
}

}  // namespace impart
