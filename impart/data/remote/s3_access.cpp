#include "impart/data/remote/s3_access.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

using Settings = std::map<std::string, std::string, std::less<>>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

std::string_view stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// A section "[NAME]" or "[profile NAME]" of a file with "key = value" lines; nothing if the file
/// or the section is not there.
std::optional<Settings> read_profile(const std::string& path, const std::string& profile) {
  std::ifstream file(path);
  std::optional<Settings> settings;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = stripped(line);
    if (text.starts_with('[')) {
      const std::string_view name = stripped(text.substr(1, text.find(']') - 1));
      inside = name == profile || name == "profile " + profile;
      if (inside && !settings) settings.emplace();
      continue;
    }
    const std::size_t equals = text.find('=');
    const bool nested = line.starts_with(' ') || line.starts_with('\t');
    if (!inside || nested || text.starts_with('#') || equals == std::string_view::npos) continue;
    (*settings)[std::string(stripped(text.substr(0, equals)))] = stripped(text.substr(equals + 1));
  }
  return settings;
}

std::string file_of(const char* name, const char* usual) {
  if (const std::string path = variable(name); !path.empty()) return path;
  const std::string home = variable("HOME");
  return home.empty() ? "" : (std::filesystem::path(home) / ".aws" / usual).string();
}

/// What both files say of the profile; keys are taken from the first that has any.
Settings find_profile() {
  const std::string wanted = variable("AWS_PROFILE");
  const std::string profile = wanted.empty() ? "default" : wanted;
  auto keys = read_profile(file_of("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile);
  auto others = read_profile(file_of("AWS_CONFIG_FILE", "config"), profile);
  if (!wanted.empty() && !keys && !others) {
    throw ConfigError(
        fmt::format("AWS_PROFILE is '{}', but neither ~/.aws/credentials nor ~/.aws/config (or the "
                    "files of AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE) has such a profile",
                    shorten(wanted)));
  }
  Settings found = keys.value_or(Settings{});
  if (found.contains("aws_access_key_id") && others) {
    for (const char* name : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) {
      others->erase(name);
    }
  }
  if (others) found.merge(*others);
  return found;
}

void take_keys(S3Access& access, Settings& profile) {
  access.key = variable("AWS_ACCESS_KEY_ID");
  access.secret = variable("AWS_SECRET_ACCESS_KEY");
  access.token = variable("AWS_SESSION_TOKEN");
  if (access.key.empty() && access.secret.empty()) {
    access.key = profile["aws_access_key_id"];
    access.secret = profile["aws_secret_access_key"];
    access.token = profile["aws_session_token"];
  }
  if (access.key.empty() == access.secret.empty()) return;
  throw ConfigError(
      fmt::format("there is {} for s3:// but no {}; both are needed, or neither",
                  access.key.empty() ? "a secret key" : "an access key",
                  access.key.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"));
}

}  // namespace

S3Access find_s3_access() {
  Settings profile = find_profile();
  S3Access access;
  take_keys(access, profile);
  access.region = first_of({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"),
                            profile["region"], std::string("us-east-1")});
  access.endpoint = first_of(
      {variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), profile["endpoint_url"]});
  while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  const bool is_web =
      access.endpoint.starts_with("https://") || access.endpoint.starts_with("http://");
  if (!access.endpoint.empty() && (!is_web || access.endpoint.find('@') != std::string::npos)) {
    throw ConfigError(
        "the endpoint of s3:// (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, endpoint_url) "
        "must be https://HOST or http://HOST, without a name or password");
  }
  return access;
}

}  // namespace impart::data
