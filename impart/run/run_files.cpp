#include "impart/run/run_files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <google/protobuf/stubs/common.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/run/json_file.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

struct Marker {
  RunStatus status;
  const char* name;
};
constexpr std::array kMarkers = {Marker{RunStatus::kDone, "DONE"},
                                 Marker{RunStatus::kFailed, "FAILED"},
                                 Marker{RunStatus::kPreempted, "PREEMPTED"}};

std::string marker_path(const std::string& folder, const Marker& marker) {
  return fmt::format("{}/{}", folder, marker.name);
}

std::string processor_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname name{};
  if (::uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string protobuf_version() {
  return google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
}

std::string version_of(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace

void clear_status(const std::string& folder) {
  for (const Marker& marker : kMarkers) {
    const std::string path = marker_path(folder, marker);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      throw IoError(fmt::format("{}: cannot remove: {}", path, std::strerror(errno)));
    }
  }
}

// The old marker goes first: a crash in between leaves none, and never two that disagree.
void mark_status(const std::string& folder, RunStatus status, std::string_view note) {
  clear_status(folder);
  for (const Marker& marker : kMarkers) {
    if (marker.status != status) continue;
    OutputFile file(marker_path(folder, marker));
    file.write(note);
    if (!note.empty()) file.write("\n");
    file.commit();
  }
}

std::optional<RunStatus> read_status(const std::string& folder) {
  std::optional<RunStatus> found;
  for (const Marker& marker : kMarkers) {
    if (::access(marker_path(folder, marker).c_str(), F_OK) != 0) continue;
    if (found) throw DataError(fmt::format("{}: more than one of DONE, FAILED, PREEMPTED", folder));
    found = marker.status;
  }
  return found;
}

void write_environment(const std::string& folder, const std::vector<Version>& more) {
  Json json = {
      {"impart", IMPART_VERSION},
      {"commit", IMPART_COMMIT},
      {"compiler", IMPART_COMPILER},
      {"build_type", IMPART_BUILD_TYPE},
      {"processor", processor_model()},
      {"cores", std::thread::hardware_concurrency()},
      {"kernel", kernel()},
      {"libc", gnu_get_libc_version()},
      {"fmt", version_of(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann_json", version_of(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                   NLOHMANN_JSON_VERSION_PATCH)},
      {"protobuf", protobuf_version()},
  };
  for (const auto& [name, version] : more) json[name] = version;
  write_json(folder + "/env.json", json);
}

Build read_build(const std::string& folder) {
  const std::string path = folder + "/env.json";
  if (::access(path.c_str(), R_OK) != 0) return {};
  const Json json = parse_json<Json>(InputFile(path).text(), path);
  const auto text = [&](const char* name) {
    const auto found = json.find(name);
    return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
  };
  return {.version = text("impart"), .commit = text("commit")};
}

}  // namespace impart::run
