#include "impart/run/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"

namespace impart::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest = "manifest.json";
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".unfinished-";

std::string checkpoints_of(const std::string& run_folder) {
  return run_folder + "/checkpoints";
}

std::string hash_of(const InputFile& file) {
  return fmt::format("{:016x}", XXH3_64bits(file.bytes().data(), file.bytes().size()));
}

bool is_checkpoint(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  name.remove_prefix(kPrefix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Names of finished checkpoints, the newest first.
std::vector<std::string> names_of(const std::string& run_folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoints_of(run_folder), ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_checkpoint(name)) names.push_back(name);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string run_folder, std::uint64_t step)
    : run_folder_(std::move(run_folder)),
      name_(fmt::format("{}{:010}", kPrefix, step)),
      temporary_(fmt::format("{}/{}{}", checkpoints_of(run_folder_), kUnfinished, name_)) {
  std::error_code error;
  fs::remove_all(temporary_, error);
  fs::create_directories(temporary_, error);
  if (error) throw IoError(fmt::format("{}: cannot create: {}", temporary_, error.message()));
}

CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  if (!finished_) fs::remove_all(temporary_, ignored);
}

std::string CheckpointWriter::path(std::string_view file) const {
  return fmt::format("{}/{}", temporary_, file);
}

void CheckpointWriter::finish(std::uint32_t keep) {
  nlohmann::json files = nlohmann::json::array();
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(temporary_)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const InputFile file(path.string());
    files.push_back({{"file", path.filename().string()},
                     {"bytes", file.bytes().size()},
                     {"xxh3", hash_of(file)}});
  }
  write_file(path(kManifest), nlohmann::json{{"version", 1}, {"files", files}}.dump(2) + "\n");
  sync_folder(temporary_);

  // A run that was resumed from an older checkpoint writes the same ones again.
  const std::string final_path = fmt::format("{}/{}", checkpoints_of(run_folder_), name_);
  std::error_code error;
  fs::remove_all(final_path, error);
  fs::rename(temporary_, final_path, error);
  if (error) throw IoError(fmt::format("{}: cannot rename: {}", final_path, error.message()));
  finished_ = true;
  sync_folder(checkpoints_of(run_folder_));
  remove_old(keep);
}

/// Newer ones are damaged, or this run would have been resumed from them; it will write them again.
void CheckpointWriter::remove_old(std::uint32_t keep) const {
  std::error_code ignored;
  std::uint32_t kept = 0;
  for (const std::string& name : names_of(run_folder_)) {
    if (name > name_ || kept++ < std::max(1u, keep)) continue;
    fs::remove_all(checkpoints_of(run_folder_) + "/" + name, ignored);
  }
  // What a killed process could not finish.
  for (const auto& entry : fs::directory_iterator(checkpoints_of(run_folder_), ignored)) {
    if (entry.path().filename().string().starts_with(kUnfinished)) fs::remove_all(entry, ignored);
  }
}

void verify_checkpoint(const std::string& folder) {
  const InputFile manifest(fmt::format("{}/{}", folder, kManifest));
  const auto content = parse_json(manifest.text(), manifest.path());
  try {
    if (content.at("version") != 1) throw DataError(manifest.path() + ": unknown version");
    for (const nlohmann::json& entry : content.at("files")) {
      const InputFile file(fmt::format("{}/{}", folder, entry.at("file").get<std::string>()));
      if (entry.at("bytes") != file.bytes().size()) {
        throw DataError(fmt::format("{}: has {} bytes instead of {}", file.path(),
                                    file.bytes().size(), shown(entry.at("bytes"))));
      }
      if (hash_of(file) != entry.at("xxh3").get<std::string>()) {
        throw DataError(file.path() + ": wrong checksum: the file is damaged");
      }
    }
  } catch (const nlohmann::json::exception&) {
    throw DataError(manifest.path() + ": not a manifest");
  }
}

std::optional<std::string> find_checkpoint(
    const std::string& run_folder, const std::function<void(const std::string& message)>& skipped) {
  for (const std::string& name : names_of(run_folder)) {
    const std::string folder = fmt::format("{}/{}", checkpoints_of(run_folder), name);
    try {
      verify_checkpoint(folder);
      return folder;
    } catch (const DataError& error) {
      skipped(fmt::format("skipping a damaged checkpoint: {}", error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace impart::run
