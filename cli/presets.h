// Configurations, studies and machines that come with impart, which users name without a path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace impart::cli {

/// What a preset is for.
enum class PresetKind { kRun, kStudy, kMachine };

struct Preset {
  std::string name;     ///< "quick", "dais/base": the path in the folder, without ".yaml"
  std::string summary;  ///< the first sentence of its first comment
  std::filesystem::path file;
};

/// By name. They are in the folder that IMPART_PRESETS names, else in share/impart/presets or
/// presets of a folder above this program: where it was installed, or its source tree. None if
/// there is no such folder; ConfigError if IMPART_PRESETS names none.
std::vector<Preset> find_presets(PresetKind kind);

/// A file of a configuration, a study or a machine.
struct ChosenFile {
  std::string path;
  /// Which one was taken, where a name could mean two: "preset quick: /usr/share/…/quick.yaml".
  std::string note;
};

/// What a user means: the file of that path if there is one, else the preset of that name.
/// ConfigError with a suggestion if there is neither.
ChosenFile choose_file(PresetKind kind, const std::string& name);

}  // namespace impart::cli
