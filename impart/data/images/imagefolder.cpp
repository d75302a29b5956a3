#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/data/images/datasets.h"
#include "impart/data/images/folder_index.h"
#include "impart/data/images/photo_set.h"
#include "impart/data/payloads/file_ranges.h"
#include "impart/data/remote/object_url.h"

// Class folders, as torchvision's ImageFolder reads them:
//
//   root/train/CLASS/….jpg|jpeg|png      root/val/CLASS/…   or   root/test/CLASS/…
//
// Classes are the folders of train/ in bytewise order. Examples are ordered by class, then bytewise
// by path, so ids are the same on every machine. Folders inside class folders belong to the class.
// Upper and lower case of an extension do not matter. Pictures of other formats are left out, and
// counted in a note; other files, and whatever begins with a dot, are ignored.

namespace impart::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderAdvice =
    "data.root must name a folder with train/CLASS/*.jpg|jpeg|png and val/CLASS/… or test/CLASS/…";
constexpr off_t kLargestPhoto = 1 << 29;
constexpr int kDeepest = 16;  // folders inside folders: beyond that, links go round in circles

/// Pictures that are not read.
constexpr std::string_view kOtherPictures[] = {"webp", "gif",  "bmp",  "tif", "tiff", "avif",
                                               "heic", "heif", "jfif", "jp2", "jxl",  "ppm"};

/// How many pictures of a format that is not read there are, by extension.
using OtherPictures = std::map<std::string, std::uint64_t, std::less<>>;

/// Of a file's name, in small letters; empty if it has none.
std::string extension_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  std::string extension(name.substr(dot + 1));
  for (char& letter : extension) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return extension;
}

bool is_photo(std::string_view name) {
  const std::string extension = extension_of(name);
  return extension == "jpg" || extension == "jpeg" || extension == "png";
}

void count_other(std::string_view name, OtherPictures& others) {
  const std::string extension = extension_of(name);
  if (std::ranges::find(kOtherPictures, extension) != std::end(kOtherPictures)) {
    ++others[extension];
  }
}

/// "3 .webp, 1 .gif"
std::string list_of(const OtherPictures& others) {
  std::vector<std::string> counts;
  for (const auto& [extension, count] : others) {
    counts.push_back(fmt::format("{} .{}", count, extension));
  }
  return fmt::to_string(fmt::join(counts, ", "));
}

std::string left_out_note(const std::string& path, const OtherPictures& others) {
  return fmt::format(
      "{}: left out, since only JPEG and PNG are read: {}; convert them to have them", path,
      list_of(others));
}

struct FoundFile {
  std::string name;  ///< below the folder where the search began
  std::uint32_t bytes;
};

struct FolderCloser {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, FolderCloser>;

Folder open_folder(const std::string& path) {
  Folder folder(::opendir(path.c_str()));
  if (!folder) throw DataError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  return folder;
}

/// The next entry that does not begin with a dot; nullptr after the last.
const dirent* next_entry(DIR* folder, const std::string& path) {
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr && errno != 0) {
      throw DataError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
    }
    if (entry == nullptr || entry->d_name[0] != '.') return entry;
  }
}

struct stat facts_of(DIR* folder, const std::string& path, const char* name) {
  struct stat facts {};
  if (::fstatat(::dirfd(folder), name, &facts, 0) != 0) {
    throw DataError(fmt::format("{}/{}: cannot look at it: {}", path, name, std::strerror(errno)));
  }
  return facts;
}

/// What a class folder holds.
struct FoundFiles {
  std::vector<FoundFile> photos;
  OtherPictures others;
};

/// Appends the photographs below root/below.
void find_photos(const std::string& root, const std::string& below, int depth, FoundFiles& found) {
  const std::string path = below.empty() ? root : root + '/' + below;
  if (depth > kDeepest) throw DataError(fmt::format("{}: too many folders in folders", path));
  const Folder folder = open_folder(path);
  while (const dirent* entry = next_entry(folder.get(), path)) {
    if (entry->d_type == DT_REG && !is_photo(entry->d_name)) {
      count_other(entry->d_name, found.others);
      continue;
    }
    const std::string name = below.empty() ? entry->d_name : below + '/' + entry->d_name;
    const struct stat facts = facts_of(folder.get(), path, entry->d_name);
    if (S_ISDIR(facts.st_mode)) {
      find_photos(root, name, depth + 1, found);
    } else if (S_ISREG(facts.st_mode) && !is_photo(name)) {
      count_other(name, found.others);
    } else if (S_ISREG(facts.st_mode)) {
      if (facts.st_size > kLargestPhoto) {
        throw DataError(
            fmt::format("{}/{}: over {} MiB: no photograph", root, name, kLargestPhoto >> 20));
      }
      found.photos.push_back({name, static_cast<std::uint32_t>(facts.st_size)});
    }
  }
}

std::vector<std::string> find_classes(const std::string& path) {
  std::vector<std::string> classes;
  const Folder folder = open_folder(path);
  while (const dirent* entry = next_entry(folder.get(), path)) {
    if (S_ISDIR(facts_of(folder.get(), path, entry->d_name).st_mode)) {
      classes.emplace_back(entry->d_name);
    }
  }
  if (classes.empty()) {
    throw DataError(fmt::format("{}: there are no class folders in it: {}", path, kFolderAdvice));
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

/// The number of a class among the sorted names of all.
std::uint32_t number_of(const std::string& name, const std::vector<std::string>& classes,
                        const std::string& path) {
  const auto place = std::lower_bound(classes.begin(), classes.end(), name);
  if (place == classes.end() || *place != name) {
    throw DataError(fmt::format("{}/{}: the training set has no such class", path, name));
  }
  return static_cast<std::uint32_t>(place - classes.begin());
}

/// One part of the data: its files in order, and their classes.
struct FoundPart {
  FileRangesSpec ranges;
  std::vector<std::uint32_t> labels;
  OtherPictures others = {};
};

FoundPart empty_part(const std::string& path) {
  return {.ranges = {.files = FileNames(path), .are_whole_files = true}, .labels = {}};
}

void append(FoundPart& part, std::string_view name, std::uint32_t bytes, std::uint32_t label) {
  if (part.labels.size() == std::numeric_limits<std::uint32_t>::max()) {
    throw DataError(fmt::format("{}: there are over 4 billion files", part.ranges.files.folder()));
  }
  part.ranges.ranges.push_back(
      {.file = static_cast<std::uint32_t>(part.labels.size()), .bytes = bytes});
  part.ranges.files.append(name);
  part.labels.push_back(label);
}

FoundPart find_part(const std::string& path, const std::vector<std::string>& folders,
                    const std::vector<std::string>& classes) {
  FoundPart part = empty_part(path);
  for (const std::string& name : folders) {
    const std::uint32_t label = number_of(name, classes, path);
    FoundFiles found;
    find_photos(path, name, 0, found);
    if (found.photos.empty()) {
      throw DataError(fmt::format(
          "{}/{}: there are no JPEG or PNG files in this class{}", path, name,
          found.others.empty() ? "" : ", but " + list_of(found.others) + "; convert them"));
    }
    std::sort(found.photos.begin(), found.photos.end(),
              [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
    for (const FoundFile& file : found.photos) append(part, file.name, file.bytes, label);
    for (const auto& [extension, count] : found.others) part.others[extension] += count;
  }
  return part;
}

/// `limit` examples of the part, spread evenly over all.
FoundPart thinned_out(FoundPart part, std::uint64_t limit) {
  const std::uint64_t all = part.labels.size();
  if (limit == 0 || limit >= all) return part;
  FoundPart kept = empty_part(part.ranges.files.folder());
  for (std::uint64_t i = 0; i < limit; ++i) {
    const std::uint64_t chosen = i * all / limit;
    append(kept, part.ranges.files.name(chosen), part.ranges.ranges[chosen].bytes,
           part.labels[chosen]);
  }
  return kept;
}

ExampleSet set_of(FoundPart part, const std::vector<std::string>& classes, std::uint32_t size) {
  return photo_set(make_file_range_source(std::move(part.ranges)), std::move(part.labels), classes,
                   size);
}

std::string folder_of_part(const std::string& root, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const fs::path path = fs::path(root) / name;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return path.string();
  }
  throw DataError(fmt::format("{}: there is no such folder: {}",
                              (fs::path(root) / *names.begin()).string(), kFolderAdvice));
}

}  // namespace

ExampleData open_imagefolder(const DataSpec& spec) {
  if (is_remote(spec.root)) return open_remote_imagefolder(spec);
  const std::string train_path = folder_of_part(spec.root, {"train"});
  const std::string test_path = folder_of_part(spec.root, {"val", "test"});
  const std::vector<std::string> classes = find_classes(train_path);
  FoundPart train = find_part(train_path, classes, classes);
  FoundPart test = find_part(test_path, find_classes(test_path), classes);
  ExampleData data;
  if (!train.others.empty()) data.notes.push_back(left_out_note(train_path, train.others));
  if (!test.others.empty()) data.notes.push_back(left_out_note(test_path, test.others));
  data.train = set_of(thinned_out(std::move(train), spec.limit), classes, spec.image_size);
  data.test = set_of(std::move(test), classes, spec.image_size);
  return data;
}

}  // namespace impart::data
