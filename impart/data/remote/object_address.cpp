#include "impart/data/remote/object_address.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace impart::data {
namespace {

constexpr const char* kSha256OfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Which may name a PEM file of authorities to trust: the first of them that does.
constexpr const char* kCertificateVariables[] = {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE",
                                                 "SSL_CERT_FILE"};

std::string find_certificates() {
  for (const char* name : kCertificateVariables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

/// Where the keys of a bucket are asked for, with a slash at the end. A name with dots does not
/// match the certificate of Amazon's hosts, so that it stands in the path.
std::string bucket_url(const S3Access& access, const std::string& bucket) {
  if (!access.endpoint.empty()) return fmt::format("{}/{}/", access.endpoint, escape_name(bucket));
  if (bucket.find('.') != std::string::npos) {
    return fmt::format("https://s3.{}.amazonaws.com/{}/", access.region, escape_name(bucket));
  }
  return fmt::format("https://{}.s3.{}.amazonaws.com/", escape_name(bucket), access.region);
}

}  // namespace

ObjectAddress::ObjectAddress(std::string_view root)
    : url_(parse_object_url(root)),
      access_(url_.kind == ObjectUrl::Kind::kS3 ? find_s3_access() : S3Access{}),
      certificates_(find_certificates()) {}

ObjectRequest ObjectAddress::request_for(std::string_view name) const {
  ObjectRequest request{.url = {}, .certificates = certificates_};
  if (url_.kind == ObjectUrl::Kind::kHttp) {
    request.url = fmt::format("{}/{}", url_.shown, escape_name(name));
    return request;
  }
  const std::string key =
      url_.prefix.empty() ? std::string(name) : fmt::format("{}/{}", url_.prefix, name);
  request.url = bucket_url(access_, url_.bucket) + escape_name(key);
  request.follows_redirects = false;
  if (access_.is_anonymous()) return request;
  request.signer = fmt::format("aws:amz:{}:s3", access_.region);
  request.key_pair = fmt::format("{}:{}", access_.key, access_.secret);
  // S3 wants it in every signed request; libcurl adds it only in later versions than 7.88.
  request.headers.push_back(fmt::format("x-amz-content-sha256: {}", kSha256OfNothing));
  if (!access_.token.empty()) {
    request.headers.push_back("x-amz-security-token: " + access_.token);
  }
  return request;
}

bool ObjectAddress::refresh() {
  if (url_.kind != ObjectUrl::Kind::kS3) return false;
  S3Access found = find_s3_access();
  if (found == access_) return false;
  access_ = std::move(found);
  return true;
}

std::string ObjectAddress::advice_when_refused() const {
  if (url_.kind == ObjectUrl::Kind::kHttp) return ": the server does not give it to everyone";
  return access_.is_anonymous()
             ? ": asked without keys; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in "
               "~/.aws/credentials, would sign the requests"
             : ": the keys are wrong, have expired, or may not read this";
}

std::string ObjectAddress::advice_when_untrusted() const {
  return fmt::format(
      "; trusted are {}; to trust others, name their PEM file in {}",
      certificates_.empty() ? "the system's authorities" : "those in " + certificates_,
      fmt::join(kCertificateVariables, ", or else in "));
}

}  // namespace impart::data
