#include "impart/data/fetch/unpack.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/fetch/sums.h"

namespace impart::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMostOtherBytes = std::uint64_t{16} << 20;  // readme files, headers

bool leaves_the_folder(std::string_view path) {
  if (path.starts_with('/')) return true;
  const std::filesystem::path parts(path);
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

class Unpacking {
 public:
  Unpacking(const UnpackSpec& spec, const FetchHooks& hooks);
  std::vector<FetchedFile> run();

 private:
  [[noreturn]] void refuse(std::string_view why) const;
  [[noreturn]] void refuse_damage() const;
  bool next_entry();
  void check_entry() const;
  void take_entry();
  FetchedFile write_member(const FetchMember& member);
  std::size_t read_data();
  void check_complete() const;

  const UnpackSpec& spec_;
  const FetchHooks& hooks_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  archive_entry* entry_ = nullptr;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t most_bytes_ = kMostOtherBytes;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kBufferBytes);
  Progress progress_;
  std::vector<FetchedFile> taken_;
};

Unpacking::Unpacking(const UnpackSpec& spec, const FetchHooks& hooks)
    : spec_(spec), hooks_(hooks), archive_(archive_read_new(), &archive_read_free) {
  for (const FetchMember& member : spec.members) most_bytes_ += member.most_bytes;
  archive_read_support_filter_gzip(archive_.get());
  archive_read_support_format_tar(archive_.get());
  if (archive_read_open_filename(archive_.get(), spec.archive.c_str(), kBufferBytes) <
      ARCHIVE_WARN) {
    refuse_damage();
  }
  packed_bytes_ = std::filesystem::file_size(spec.archive);
}

void Unpacking::refuse(std::string_view why) const {
  const char* name = entry_ == nullptr ? nullptr : archive_entry_pathname(entry_);
  throw DataError(fmt::format("{}: byte {} of the archive inside{}: {}", spec_.archive,
                              archive_filter_bytes(archive_.get(), 0),
                              name == nullptr ? "" : fmt::format(", entry '{}'", name), why));
}

/// For what the library says of an archive, which may be nothing.
void Unpacking::refuse_damage() const {
  const char* why = archive_error_string(archive_.get());
  refuse(why == nullptr ? "it is damaged" : why);
}

bool Unpacking::next_entry() {
  entry_ = nullptr;
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive_.get(), &entry);
  if (status == ARCHIVE_EOF) return false;
  if (status < ARCHIVE_WARN) refuse_damage();
  entry_ = entry;
  return true;
}

/// Suspicious entries condemn the archive, even those that would not be taken.
void Unpacking::check_entry() const {
  const char* path = archive_entry_pathname(entry_);
  if (path == nullptr) refuse("its name cannot be read");
  if (leaves_the_folder(path)) refuse("leads out of the folder");
  const auto type = archive_entry_filetype(entry_);
  const bool is_link = archive_entry_hardlink(entry_) != nullptr || type == AE_IFLNK;
  if (is_link) refuse("is a link");
  if (type != AE_IFREG && type != AE_IFDIR) refuse("is neither a file nor a folder");
  const auto position = static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), 0));
  const auto size = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry_)));
  if (size > most_bytes_ || position > most_bytes_ - size) {
    refuse(fmt::format("the archive would unpack to more than {} bytes", most_bytes_));
  }
}

void Unpacking::take_entry() {
  if (archive_entry_filetype(entry_) != AE_IFREG) return;
  const std::string name =
      std::filesystem::path(archive_entry_pathname(entry_)).filename().string();
  const auto is_it = [&](const auto& other) { return other.name == name; };
  const auto member = std::find_if(spec_.members.begin(), spec_.members.end(), is_it);
  if (member == spec_.members.end()) return;
  if (std::any_of(taken_.begin(), taken_.end(), is_it)) refuse("a file of this name came before");
  taken_.push_back(write_member(*member));
}

FetchedFile Unpacking::write_member(const FetchMember& member) {
  OutputFile file(spec_.folder + "/" + std::string(member.name));
  Sha256 sum;
  std::uint64_t bytes = 0;
  while (const std::size_t got = read_data()) {
    bytes += got;
    if (bytes > member.most_bytes) refuse(fmt::format("has over {} bytes", member.most_bytes));
    const auto data = std::span(buffer_).first(got);
    file.write(data);
    sum.add(data);
  }
  file.commit();
  return {.name = std::string(member.name), .bytes = bytes, .sha256 = sum.finish()};
}

std::size_t Unpacking::read_data() {
  if (hooks_.stop_requested && hooks_.stop_requested()) throw FetchStopped("stopped");
  const la_ssize_t got = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
  if (got < 0) refuse_damage();
  if (progress_) {
    progress_(static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), -1)), packed_bytes_);
  }
  return static_cast<std::size_t>(got);
}

void Unpacking::check_complete() const {
  for (const FetchMember& member : spec_.members) {
    const bool is_there = std::any_of(taken_.begin(), taken_.end(), [&](const FetchedFile& file) {
      return file.name == member.name;
    });
    if (!is_there && !member.optional) refuse(fmt::format("there is no file {}", member.name));
  }
}

std::vector<FetchedFile> Unpacking::run() {
  const std::string what = "unpacking " + std::filesystem::path(spec_.archive).filename().string();
  if (hooks_.phase) progress_ = hooks_.phase(what);
  while (next_entry()) {
    check_entry();
    take_entry();
  }
  check_complete();
  return std::move(taken_);
}

}  // namespace

std::vector<FetchedFile> unpack(const UnpackSpec& spec, const FetchHooks& hooks) {
  return Unpacking(spec, hooks).run();
}

}  // namespace impart::data
