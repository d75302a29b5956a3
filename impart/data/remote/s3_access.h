#pragma once

#include <string>

namespace impart::data {

/// How to reach a bucket, found where other tools look, in this order:
///   keys      AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile in
///             AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials), or AWS_CONFIG_FILE (~/.aws/config)
///   region    AWS_REGION, AWS_DEFAULT_REGION; the profile's `region`; us-east-1
///   endpoint  AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; the profile's `endpoint_url`; Amazon's
/// The profile is AWS_PROFILE, or `default`. Without keys requests are not signed.
///
/// Secrets are in here: it is never printed, and no message quotes it.
struct S3Access {
  std::string key = {}, secret = {}, token = {};
  std::string region = {};
  std::string endpoint =
      {};  ///< "https://HOST[:PORT]", without a slash at the end; empty: Amazon's

  bool is_anonymous() const { return key.empty(); }
  bool operator==(const S3Access&) const = default;
};

/// ConfigError if AWS_PROFILE names a profile that no file has, or there is half a pair of keys.
S3Access find_s3_access();

}  // namespace impart::data
