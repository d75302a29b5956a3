#include "impart/data/fetch/fetch.h"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "impart/core/file.h"
#include "impart/data/datasets.h"
#include "impart/data/fetch/download.h"
#include "impart/data/fetch/folder.h"
#include "impart/data/fetch/part.h"
#include "impart/data/fetch/stamp.h"
#include "impart/data/fetch/sums.h"
#include "impart/data/fetch/unpack.h"

namespace impart::data {
namespace {

namespace fs = std::filesystem;

using Sums = std::map<std::string, std::string>;

Sums wanted_sums(const Fetchable& set, const FetchSpec& spec) {
  Sums wanted;
  for (const FetchFile& file : set.files) wanted.emplace(file.name, file.sha256);
  if (spec.sums.empty()) return wanted;
  const Sums given = read_sums(spec.sums);
  for (auto& [name, sum] : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) {
      throw DataError(fmt::format("{}: has no sum for {}", spec.sums, name));
    }
    sum = found->second;
  }
  return wanted;
}

/// The address of the folder with the files, ending with '/'.
std::string address_of(const Fetchable& set, const FetchSpec& spec) {
  if (spec.from.empty()) return std::string(set.address);
  const bool is_url = spec.from.starts_with("https://") || spec.from.starts_with("http://") ||
                      spec.from.starts_with("file:///");
  if (!is_url) {
    throw ConfigError(fmt::format(
        "--from '{}': must begin with https://, http:// or file:/// (a local folder)", spec.from));
  }
  return spec.from.ends_with('/') ? spec.from : spec.from + "/";
}

void rename_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw IoError(fmt::format("{}: cannot rename to: {}", to.string(), error.message()));
  impart::sync_folder(to.parent_path().string());
}

/// One fetch_data(): first everything is staged in hidden places, then it is published.
class Fetch {
 public:
  Fetch(const Fetchable& set, const FetchSpec& spec, const FetchHooks& hooks)
      : set_(set),
        spec_(spec),
        hooks_(hooks),
        dest_(spec.dest),
        address_(address_of(set, spec)),
        sums_(wanted_sums(set, spec)),
        destination_(dest_) {}

  FetchOutcome run();

 private:
  /// A file where it was downloaded or unpacked to, on its way to dest_/name.
  struct Staged {
    fs::path path;
    FetchedFile file;
  };

  std::string stamp_path() const {
    return (dest_ / fmt::format(".fetched-{}.json", set_.name)).string();
  }
  fs::path scratch_path() const { return dest_ / fmt::format(".{}.unpacked", set_.name); }
  fs::path check_path() const { return dest_ / fmt::format(".{}.check", set_.name); }
  fs::path part_path(const FetchFile& file) const {
    return dest_ / fmt::format(".{}.part", file.name);
  }
  const std::string& sum_of(const FetchFile& file) const {
    return sums_.at(std::string(file.name));
  }
  /// Sizes were published together with the sums, and hold as long as these do.
  std::uint64_t bytes_of(const FetchFile& file) const {
    return spec_.sums.empty() ? file.bytes : 0;
  }
  Progress phase(const std::string& what) const {
    return hooks_.phase ? hooks_.phase(what) : Progress{};
  }

  bool has_sum(const fs::path& path, const FetchFile& file) const;
  bool is_complete(const std::optional<FetchStamp>& stamp) const;
  void refuse_to_replace(const fs::path& path) const;
  void protect_other_files(const std::optional<FetchStamp>& stamp) const;
  fs::path obtain(const FetchFile& file);
  void download_part(const FetchFile& file);
  void stage(const FetchFile& file);
  void check_loadable() const;
  void publish();
  void keep_archives() const;
  void remove_leftovers() const;

  const Fetchable& set_;
  const FetchSpec& spec_;
  const FetchHooks& hooks_;
  const fs::path dest_;
  const std::string address_;
  const Sums sums_;
  const Destination destination_;
  std::optional<ScratchFolder> unpacked_;
  std::vector<Staged> staged_;
  FetchOutcome outcome_;
};

bool Fetch::has_sum(const fs::path& path, const FetchFile& file) const {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  const std::uint64_t wanted = bytes_of(file);
  if (error || (wanted != 0 && size != wanted)) return false;
  return sha256_of_file(path.string(), phase(fmt::format("checking {}", file.name))) ==
         sum_of(file);
}

bool Fetch::is_complete(const std::optional<FetchStamp>& stamp) const {
  return stamp && stamp->sources == sums_ &&
         files_are_intact(*stamp, dest_.string(), phase("checking what is there"));
}

void Fetch::refuse_to_replace(const fs::path& path) const {
  throw ConfigError(fmt::format(
      "{}: is there already, and no fetch of {} has put it there; --overwrite replaces it",
      path.string(), set_.name));
}

void Fetch::protect_other_files(const std::optional<FetchStamp>& stamp) const {
  if (spec_.overwrite) return;
  const auto is_foreign = [&](std::string_view name) {
    std::error_code ignored;
    return fs::exists(dest_ / name, ignored) && !(stamp && stamp->lists(std::string(name)));
  };
  for (const FetchFile& file : set_.files) {
    const bool stays = file.members.empty() || spec_.keep_archive;
    if (stays && is_foreign(file.name) && !has_sum(dest_ / file.name, file)) {
      refuse_to_replace(dest_ / file.name);
    }
    for (const FetchMember& member : file.members) {
      if (is_foreign(member.name)) refuse_to_replace(dest_ / member.name);
    }
  }
}

/// A file with the right contents: one that is there already, or a part that is complete now.
fs::path Fetch::obtain(const FetchFile& file) {
  fs::path whole = dest_ / file.name, part = part_path(file);
  if (has_sum(whole, file)) return whole;
  if (has_sum(part, file)) return part;
  download_part(file);
  return part;
}

void Fetch::download_part(const FetchFile& file) {
  const DownloadSpec download_spec{.url = address_ + std::string(file.name),
                                   .part = part_path(file).string(),
                                   .bytes = bytes_of(file),
                                   .retries = spec_.retries,
                                   .stall = spec_.stall,
                                   .least_rate = spec_.least_rate,
                                   .certificates = spec_.certificates};
  std::error_code error;
  const std::uintmax_t size = fs::file_size(download_spec.part, error);
  const bool is_too_long = !error && bytes_of(file) != 0 && size >= bytes_of(file);
  bool goes_on = !error && size > 0;
  if (goes_on && is_too_long) remove_part(download_spec.part);
  while (true) {
    outcome_.downloaded += download(download_spec, hooks_);
    const std::string found =
        sha256_of_file(download_spec.part, phase(fmt::format("checking {}", file.name)));
    if (found == sum_of(file)) return;
    remove_part(download_spec.part);
    // Two halves of different files: worth another try.
    if (!std::exchange(goes_on, false)) {
      throw DataError(
          fmt::format("{}: its sha256 is {}, but should be {}: the download was deleted",
                      download_spec.url, found, sum_of(file)));
    }
  }
}

void Fetch::stage(const FetchFile& file) {
  const fs::path path = obtain(file);
  if (file.members.empty()) {
    staged_.push_back({path, {std::string(file.name), fs::file_size(path), sum_of(file)}});
    return;
  }
  if (!unpacked_) unpacked_.emplace(scratch_path());
  const fs::path folder = unpacked_->path();
  for (FetchedFile& member :
       unpack({.archive = path.string(), .folder = folder.string(), .members = file.members},
              hooks_)) {
    const fs::path place = folder / member.name;
    staged_.push_back({place, std::move(member)});
  }
}

/// Published sums stand for published contents; sums of one's own for whatever a mirror has, an
/// error page or an empty file. So what they vouch for is loaded before it gets its place.
void Fetch::check_loadable() const {
  if (spec_.sums.empty()) return;
  const ScratchFolder folder(check_path());
  for (const Staged& staged : staged_) {
    fs::create_symlink(fs::absolute(staged.path), folder.path() / staged.file.name);
  }
  try {
    load_data({.name = std::string(set_.dataset), .root = folder.path().string()});
  } catch (const DataError& error) {
    throw DataError(fmt::format("the files have the sums of {}, but are no {}: {}", spec_.sums,
                                set_.name, error.what()));
  }
}

/// The stamp comes first, so that files of a fetch that ends in between are known for its own.
void Fetch::publish() {
  FetchStamp stamp{.sources = sums_, .files = {}};
  for (const Staged& staged : staged_) stamp.files.push_back(staged.file);
  write_stamp(stamp_path(), stamp);
  for (const Staged& staged : staged_) {
    const fs::path place = dest_ / staged.file.name;
    if (staged.path != place) rename_file(staged.path, place);
    outcome_.files.push_back(staged.file.name);
  }
}

void Fetch::keep_archives() const {
  for (const FetchFile& file : set_.files) {
    const bool is_archive = !file.members.empty();
    if (is_archive && fs::exists(part_path(file))) rename_file(part_path(file), dest_ / file.name);
  }
}

/// Also those of an earlier fetch that was killed.
void Fetch::remove_leftovers() const {
  for (const FetchFile& file : set_.files) remove_part(part_path(file).string());
  std::error_code ignored;
  fs::remove_all(scratch_path(), ignored);
  fs::remove_all(check_path(), ignored);
  const std::string stamp = fs::path(stamp_path()).filename().string();
  for (const auto& entry : fs::directory_iterator(dest_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_unfinished_stamp = name.starts_with(stamp) && name.ends_with(".tmp");
    if (is_unfinished_stamp) fs::remove(entry.path(), ignored);
  }
}

FetchOutcome Fetch::run() {
  const std::optional<FetchStamp> stamp = read_stamp(stamp_path());
  if (is_complete(stamp)) {
    remove_leftovers();
    outcome_.was_complete = true;
    for (const FetchedFile& file : stamp->files) outcome_.files.push_back(file.name);
    return outcome_;
  }
  protect_other_files(stamp);
  for (const FetchFile& file : set_.files) stage(file);
  check_loadable();
  publish();
  if (spec_.keep_archive) keep_archives();
  remove_leftovers();
  return outcome_;
}

}  // namespace

FetchOutcome fetch_data(const Fetchable& set, const FetchSpec& spec, const FetchHooks& hooks) {
  return Fetch(set, spec, hooks).run();
}

}  // namespace impart::data
