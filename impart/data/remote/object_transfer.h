#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <curl/curl.h>

namespace impart::data {

/// What to ask a server for, and how.
struct ObjectRequest {
  std::string url;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> bytes = {};  ///< nothing: all there are, and no range is asked for
  std::vector<std::string> headers = {};    ///< "Name: value", signed with the rest
  std::string signer = {};                  ///< "aws:amz:REGION:s3"; empty: not signed
  std::string key_pair = {};                ///< "KEY:SECRET" of the signature
  bool follows_redirects = true;
  std::string certificates = {};  ///< PEM file of authorities to trust; empty = the system's
  std::chrono::seconds timeout{30};
  std::uint64_t least_rate = 0;
};

/// How an attempt ended.
struct ObjectAnswer {
  enum class Fate {
    kDone,
    kPassing,    ///< another attempt may succeed
    kMissing,    ///< there is no such object
    kRefused,    ///< not without (other) keys
    kUntrusted,  ///< no authority that is trusted knows the server's certificate
    kChanged,    ///< another object of that name than before
    kFinal,      ///< another attempt will not help
  };
  Fate fate = Fate::kDone;
  std::string reason = {};
  std::string version = {};               ///< ETag, or else Last-Modified
  std::uint64_t object_bytes = 0;         ///< of the whole object; 0: the server did not say
  std::uint64_t received = 0;             ///< of the body, in this attempt
  std::chrono::seconds wait_at_least{0};  ///< what the server asked for
  bool multiplexed = false;               ///< one connection serves many requests at a time
  bool wrong_size = false;                ///< the object is longer or shorter than it should be
};

/// One attempt to get (the rest of) an object or of a range of it, on a handle of libcurl that the
/// owner adds to a multi handle. Bytes go to `into` as they come.
class ObjectTransfer {
 public:
  /// `into` has room for all bytes, or grows as they come if their number is not known, up to
  /// `most`. `expected` is the version that the object had before; "": any.
  ObjectTransfer(ObjectRequest request, std::string expected, std::vector<std::byte>* grows,
                 std::uint64_t most, std::span<std::byte> into);
  ObjectTransfer(const ObjectTransfer&) = delete;
  ObjectTransfer& operator=(const ObjectTransfer&) = delete;

  CURL* handle() const { return curl_.get(); }

  /// What has become of it, after libcurl has said that it is over.
  ObjectAnswer judge(CURLcode code) const;

 private:
  template <class Option, class Value>
  void set(Option option, Value value);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  void note_header(std::string_view line);
  bool begin_body();
  bool take(std::span<const std::byte> bytes);
  long status() const;
  ObjectAnswer judge_status(ObjectAnswer answer) const;
  ObjectAnswer judge_error(CURLcode code, ObjectAnswer answer) const;

  ObjectRequest request_;
  std::string expected_;
  std::vector<std::byte>* grows_;
  std::uint64_t most_;
  std::span<std::byte> into_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> lines_{nullptr, &curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> error_text_{};

  std::string etag_, modified_, content_range_, region_;
  std::string error_page_;
  bool begun_ = false;
  ObjectAnswer::Fate wrong_ = ObjectAnswer::Fate::kDone;  ///< what was found wrong with the body
  std::string why_wrong_;
  bool wrong_size_ = false;
  std::uint64_t object_bytes_ = 0, received_ = 0;
};

}  // namespace impart::data
