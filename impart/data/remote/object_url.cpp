#include "impart/data/remote/object_url.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kWebs[] = {"https://", "http://"};

/// What stands before the name of the server; "" if it is no URL.
std::string_view scheme_of(std::string_view root) {
  constexpr std::string_view kEnd = "://";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const std::size_t end = root.find(kEnd);
  const bool is_word = end > 0 && root.find_first_not_of(kLetters) == end;
  return is_word && end != std::string_view::npos ? root.substr(0, end + kEnd.size()) : "";
}

bool is_read_here(std::string_view scheme) {
  return scheme == kS3 || std::ranges::find(kWebs, scheme) != std::end(kWebs);
}

bool is_bucket(std::string_view name) {
  return std::ranges::all_of(name, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("-._").find(letter) != std::string_view::npos;
  });
}

bool is_plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("-._~/").find(letter) != std::string_view::npos;
}

}  // namespace

bool is_remote(std::string_view root) {
  return !scheme_of(root).empty();
}

std::string find_fault_in_root(std::string_view root) {
  const std::string_view scheme = scheme_of(root);
  const std::string_view rest = root.substr(scheme.size());
  const std::string_view server = rest.substr(0, rest.find('/'));
  if (server.find('@') != std::string_view::npos) {
    return "data.root holds a name or password before '@', which would be written into run "
           "directories; leave them out (keys of s3:// come from AWS_ACCESS_KEY_ID and the like)";
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return "data.root has a '?' or '#', but names a folder on a server: leave out what follows";
  }
  if (!is_read_here(scheme)) {
    return fmt::format(
        "data.root begins with {}, but data is read from https://, http:// and s3://, or from a "
        "folder of this machine, which has no such beginning",
        scheme);
  }
  if (server.empty()) return "data.root names no server, as in https://HOST/FOLDER or s3://BUCKET";
  const bool odd = std::any_of(rest.begin(), rest.end(), [](char letter) {
    return std::iscntrl(static_cast<unsigned char>(letter)) != 0 || letter == ' ';
  });
  if (odd) return "data.root has a blank or control character in its URL";
  return scheme == kS3 && !is_bucket(server)
             ? "data.root names a bucket with other characters than letters, digits, '-', '.', '_'"
             : "";
}

ObjectUrl parse_object_url(std::string_view root) {
  if (std::string fault = find_fault_in_root(root); !fault.empty()) throw ConfigError(fault);
  const bool is_s3 = root.starts_with(kS3);
  ObjectUrl url{.kind = is_s3 ? ObjectUrl::Kind::kS3 : ObjectUrl::Kind::kHttp,
                .shown = std::string(root),
                .bucket = {},
                .prefix = {}};
  while (url.shown.ends_with('/')) url.shown.pop_back();
  if (!is_s3) return url;
  const std::string path = url.shown.substr(kS3.size());
  const std::size_t slash = std::min(path.find('/'), path.size());
  url.bucket = path.substr(0, slash);
  url.prefix = path.substr(std::min(slash + 1, path.size()));
  return url;
}

std::string escape_name(std::string_view name) {
  std::string escaped;
  for (const char letter : name) {
    escaped += is_plain(letter) ? std::string(1, letter)
                                : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return escaped;
}

}  // namespace impart::data
