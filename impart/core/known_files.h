#pragma once

#include <span>
#include <string>
#include <vector>

namespace impart {

/// Whether there is a regular file of that name; one that cannot be looked at is not there.
bool is_file(const std::string& path);

/// What is in a folder, by whether it was expected there. Paths are relative to the folder, sorted,
/// what is in a folder before the folder itself.
struct KnownFiles {
  std::vector<std::string> known;
  std::vector<std::string> foreign;
};

/// Sorts all that is below a folder by patterns as shells have them: "parts/epoch-*.csv", where a
/// star stands for anything but a slash. A pattern knows the folders on the way to it, and
/// leftovers of OutputFile. Links and whatever else is neither file nor folder are foreign.
/// DataError if a folder cannot be read.
KnownFiles sort_files(const std::string& folder, std::span<const char* const> patterns);

/// "a, b and 7 more".
std::string list_some(std::span<const std::string> names);

/// Deletes the known files and then the folders among them, never what is foreign. IoError.
void remove_known(const std::string& folder, const KnownFiles& files);

}  // namespace impart
