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

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

void write_json(const std::string& path, const Json& json) {
  OutputFile file(path);
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
  file.commit();
}

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

void write_summary(const std::string& folder, const RunSummary& summary,
                   const nlohmann::ordered_json& more) {
  Json json = Json::object();
  for_each_result(summary, [&](const char* name, const std::optional<double>& value) {
    if (value) json[name] = *value;
  });
  json["best_epoch"] = summary.best_epoch;
  json["epochs"] = summary.epochs;
  json["examples"] = summary.examples;
  json["workers"] = summary.workers;
  json["processes"] = summary.processes;
  json["seed"] = summary.seed;
  json["seconds_total"] = summary.seconds_total;
  json["seconds_train"] = summary.seconds_train;
  json["seconds_tracking"] = summary.seconds_tracking;
  json["seconds_partition"] = summary.seconds_partition;
  json["seconds_exchange"] = summary.seconds_exchange;
  json["seconds_importance_pass"] = summary.seconds_importance_pass;
  json["seconds_eval"] = summary.seconds_eval;
  json["examples_moved"] = summary.examples_moved;
  json["bytes_disk"] = summary.bytes_disk;
  json["bytes_network"] = summary.bytes_network;
  json["messages"] = summary.messages;
  json["peak_stored_examples"] = summary.peak_stored_examples;
  json["weights_sha256"] = summary.weights_sha256;
  for (const auto& [name, value] : more.items()) json[name] = value;
  write_json(folder + "/summary.json", json);
}

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

}  // namespace impart::run
