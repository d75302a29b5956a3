#pragma once

#include <string>
#include <string_view>

#include "impart/data/remote/object_transfer.h"
#include "impart/data/remote/object_url.h"
#include "impart/data/remote/s3_access.h"

namespace impart::data {

/// How objects below a folder are asked for: their URLs and, for s3://, what signs the requests.
class ObjectAddress {
 public:
  /// ConfigError if the root is no URL of a folder, or keys cannot be found as they should.
  explicit ObjectAddress(std::string_view root);

  /// The folder as the user gave it: for messages.
  const std::string& folder() const { return url_.shown; }

  /// A request for the whole object.
  ObjectRequest request_for(std::string_view name) const;

  /// Looks for keys again. True if there are others now.
  bool refresh();

  /// What to say to whom the server refuses.
  std::string advice_when_refused() const;
  /// What to say to whom the server's certificate is a stranger's.
  std::string advice_when_untrusted() const;

 private:
  ObjectUrl url_;
  S3Access access_;
  std::string certificates_;
};

}  // namespace impart::data
