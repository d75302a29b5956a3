#include "cli/presets.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/named_table.h"

namespace impart::cli {
namespace {

namespace fs = std::filesystem;

/// What the kinds differ in; those of runs have the rest of the folder.
struct KindRow {
  std::string_view word;
  std::string_view command;  ///< what takes it
  std::string_view folder;
  std::string_view listing;
  std::string_view instead_of_folder;
};
constexpr KindRow kKindRows[] = {
    {"preset", "train", "", "presets", "a YAML file, or --resume to go on with the run in it"},
    {"preset", "study", "studies", "studies", "the study's file, or --status to look at it"},
    {"machine", "io --machine", "machines", "machines", "the machine's YAML file"},
};

const KindRow& row_of(PresetKind kind) {
  return kKindRows[static_cast<std::size_t>(kind)];
}

bool is_of_other_kind(const fs::path& path, const fs::path& root, PresetKind kind) {
  return std::any_of(std::begin(kKindRows), std::end(kKindRows), [&](const KindRow& row) {
    return !row.folder.empty() && row.folder != row_of(kind).folder && path == root / row.folder;
  });
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::optional<fs::path> preset_folder() {
  if (const char* named = std::getenv("IMPART_PRESETS"); named != nullptr && *named != '\0') {
    if (is_folder(named)) return named;
    throw ConfigError(fmt::format("IMPART_PRESETS: there is no folder {}", named));
  }
  std::error_code ignored;
  fs::path above = fs::read_symlink("/proc/self/exe", ignored);
  while (above.has_relative_path()) {
    above = above.parent_path();
    for (const fs::path& folder : {above / "share/impart/presets", above / "presets"}) {
      if (is_folder(folder)) return folder;
    }
  }
  return std::nullopt;
}

/// As far as its first line goes.
std::string first_sentence(const fs::path& file) {
  std::ifstream text(file);
  std::string line;
  std::getline(text, line);
  if (!line.starts_with("# ")) return "";
  const std::size_t end = std::min(line.find(". "), line.find("? "));
  return line.substr(2, end == std::string::npos ? end : end - 1);
}

std::string name_in(const fs::path& folder, const fs::path& file) {
  return file.lexically_relative(folder).replace_extension().generic_string();
}

/// The preset that "quick.yaml", "imdb-bpe" or "qiuck" may mean; "" if none.
std::string_view nearest_preset(const fs::path& name, const std::vector<Preset>& presets) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets) {
    if (fs::path(preset.name).filename() == name.stem()) return preset.name;
    names.push_back(preset.name);
  }
  return nearest_name(name.string(), names);
}

bool has_name(const std::vector<Preset>& presets, const std::string& name) {
  return std::any_of(presets.begin(), presets.end(),
                     [&](const Preset& preset) { return preset.name == name; });
}

[[noreturn]] void throw_no_file(PresetKind kind, const std::string& name,
                                const std::vector<Preset>& presets) {
  const std::string what =
      fmt::format("there is no file '{}' and no {} of that name", name, row_of(kind).word);
  for (const PresetKind other : {PresetKind::kRun, PresetKind::kStudy, PresetKind::kMachine}) {
    if (other != kind && has_name(find_presets(other), name)) {
      throw ConfigError(
          fmt::format("'{0}' is for another command: impart {1} {0}", name, row_of(other).command));
    }
  }
  const std::string_view meant = nearest_preset(name, presets);
  if (!meant.empty()) throw ConfigError(fmt::format("{}; did you mean '{}'?", what, meant));
  throw ConfigError(fmt::format("{}; see 'impart list {}'", what, row_of(kind).listing));
}

}  // namespace

std::vector<Preset> find_presets(PresetKind kind) {
  const auto root = preset_folder();
  if (!root) return {};
  const std::string_view inner = row_of(kind).folder;
  const fs::path folder = inner.empty() ? *root : *root / inner;
  std::vector<Preset> presets;
  std::error_code ignored;
  for (auto file = fs::recursive_directory_iterator(folder, ignored);
       file != fs::recursive_directory_iterator(); ++file) {
    if (is_of_other_kind(file->path(), *root, kind)) file.disable_recursion_pending();
    if (file->path().extension() != ".yaml") continue;
    presets.push_back({.name = name_in(folder, file->path()),
                       .summary = first_sentence(file->path()),
                       .file = file->path()});
  }
  std::sort(presets.begin(), presets.end(),
            [](const Preset& a, const Preset& b) { return a.name < b.name; });
  return presets;
}

ChosenFile choose_file(PresetKind kind, const std::string& name) {
  const KindRow& row = row_of(kind);
  const std::vector<Preset> presets = find_presets(kind);
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const Preset& preset) { return preset.name == name; });
  const bool is_preset = found != presets.end();
  std::error_code ignored;
  if (fs::exists(name, ignored) && !is_folder(name)) {
    if (fs::is_regular_file(name, ignored) && fs::file_size(name, ignored) == 0) {
      throw ConfigError(fmt::format("{}: is empty; give {}", name, row.instead_of_folder));
    }
    return {name, is_preset ? fmt::format("file {}, not the {} of that name", name, row.word) : ""};
  }
  if (is_preset) {
    const std::string path = found->file.string();
    return {path, fmt::format("{} {}: {}", row.word, name, path)};
  }
  if (is_folder(name)) {
    throw ConfigError(fmt::format("{}: is a folder; give {}", name, row.instead_of_folder));
  }
  throw_no_file(kind, name, presets);
}

}  // namespace impart::cli
