#include "impart/data/remote/object_transfer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

using Fate = ObjectAnswer::Fate;

constexpr long kMostHops = 10;
constexpr std::size_t kLongestPage = 4096;
constexpr CURLcode kPassingErrors[] = {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                                       CURLE_COULDNT_CONNECT,      CURLE_PARTIAL_FILE,
                                       CURLE_RECV_ERROR,           CURLE_SEND_ERROR,
                                       CURLE_GOT_NOTHING,          CURLE_HTTP2,
                                       CURLE_HTTP2_STREAM,         CURLE_OPERATION_TIMEDOUT,
                                       CURLE_SSL_CONNECT_ERROR,    CURLE_WEIRD_SERVER_REPLY};
constexpr long kPassingStatuses[] = {408, 425, 429, 500, 502, 503, 504};

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// "bytes 100-199/2000": first and last byte, and how many the whole has (0 for "*").
struct RangeSent {
  std::uint64_t first = 0, last = 0, whole = 0;
};

std::optional<RangeSent> parse_range(std::string_view text) {
  RangeSent range;
  const auto number = [&](std::uint64_t& into, char behind) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, into);
    if (error != std::errc{} || (behind != '\0' && (stop == end || *stop != behind))) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + (behind != '\0' ? 1 : 0));
    return true;
  };
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  if (!number(range.first, '-') || !number(range.last, '/')) return std::nullopt;
  if (text != "*" && !number(range.whole, '\0')) return std::nullopt;
  return range;
}

/// The code in S3's page about an error, such as ExpiredToken; "" if there is none. What else is on
/// the page may hold keys.
std::string code_on_page(std::string_view page) {
  constexpr std::string_view kOpen = "<Code>", kClose = "</Code>";
  const std::size_t begin = page.find(kOpen);
  const std::size_t end = page.find(kClose, begin == std::string_view::npos ? 0 : begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return "";
  const std::string_view code = page.substr(begin + kOpen.size(), end - begin - kOpen.size());
  const bool plain = std::all_of(code.begin(), code.end(),
                                 [](unsigned char letter) { return std::isalnum(letter) != 0; });
  return plain && code.size() <= 64 ? std::string(code) : "";
}

}  // namespace

ObjectTransfer::ObjectTransfer(ObjectRequest request, std::string expected,
                               std::vector<std::byte>* grows, std::uint64_t most,
                               std::span<std::byte> into)
    : request_(std::move(request)),
      expected_(std::move(expected)),
      grows_(grows),
      most_(most),
      into_(into),
      curl_(curl_easy_init(), &curl_easy_cleanup) {
  if (curl_ == nullptr) throw Error("libcurl cannot start");
  const bool is_https = request_.url.starts_with("https:");
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "https,http");
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "https,http");
  set(CURLOPT_FOLLOWLOCATION, request_.follows_redirects ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, kMostHops);
  set(CURLOPT_USERAGENT, "impart");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (is_https) set(CURLOPT_PIPEWAIT, 1L);
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_HEADERFUNCTION, &ObjectTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &ObjectTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(request_.timeout.count()));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(std::max<std::uint64_t>(request_.least_rate, 1)));
  if (!request_.certificates.empty()) set(CURLOPT_CAINFO, request_.certificates.c_str());
  if (!request_.signer.empty()) {
    set(CURLOPT_AWS_SIGV4, request_.signer.c_str());
    set(CURLOPT_USERPWD, request_.key_pair.c_str());
  }
  for (const std::string& line : request_.headers) {
    lines_.reset(curl_slist_append(lines_.release(), line.c_str()));
  }
  if (lines_) set(CURLOPT_HTTPHEADER, lines_.get());
  if (request_.bytes) {
    const std::uint64_t last = request_.offset + *request_.bytes - 1;
    set(CURLOPT_RANGE, fmt::format("{}-{}", request_.offset, last).c_str());
  }
}

template <class Option, class Value>
void ObjectTransfer::set(Option option, Value value) {
  const CURLcode code = curl_easy_setopt(curl_.get(), option, value);
  if (code != CURLE_OK) throw Error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
}

long ObjectTransfer::status() const {
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::size_t ObjectTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<ObjectTransfer*>(self)->note_header({data, size * count});
  return size * count;
}

void ObjectTransfer::note_header(std::string_view line) {
  if (line.starts_with("HTTP/")) etag_ = modified_ = content_range_ = region_ = "";
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string value(without_blanks(line.substr(colon + 1)));
  if (same_letters(name, "etag")) etag_ = value;
  if (same_letters(name, "last-modified")) modified_ = value;
  if (same_letters(name, "content-range")) content_range_ = value;
  if (same_letters(name, "x-amz-bucket-region")) region_ = value;
}

std::size_t ObjectTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<ObjectTransfer*>(self);
  const std::size_t bytes = size * count;
  if (transfer.status() >= 300) {
    const std::size_t room = kLongestPage - std::min(kLongestPage, transfer.error_page_.size());
    transfer.error_page_.append(data, std::min(room, bytes));
    return bytes;
  }
  return transfer.take(std::as_bytes(std::span(data, bytes))) ? bytes : 0;
}

/// Whether the body is what was asked for, as far as its headers tell.
bool ObjectTransfer::begin_body() {
  begun_ = true;
  const auto refuse = [&](Fate fate, std::string why) {
    wrong_ = fate;
    why_wrong_ = std::move(why);
    return false;
  };
  curl_off_t length = -1;
  curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  const std::string& version = etag_.empty() ? modified_ : etag_;
  if (!expected_.empty() && version != expected_) {
    return refuse(Fate::kChanged, "the file on the server is another one than at first");
  }
  if (status() == 206) {
    const std::optional<RangeSent> sent = parse_range(content_range_);
    const std::uint64_t last = request_.offset + request_.bytes.value_or(0) - 1;
    if (!sent || !request_.bytes || sent->first != request_.offset || sent->last != last) {
      return refuse(Fate::kPassing,
                    fmt::format("the server sent bytes '{}' instead of {}-{}",
                                shorten(content_range_, 60), request_.offset, last));
    }
    object_bytes_ = sent->whole;
  } else {
    if (length >= 0) object_bytes_ = static_cast<std::uint64_t>(length);
    const bool is_whole = request_.offset == 0 && length >= 0 && object_bytes_ == into_.size();
    if (request_.bytes && !is_whole) {
      return refuse(Fate::kFinal, "the server sends whole files only, not ranges of bytes");
    }
    if (grows_ == nullptr && length >= 0 && object_bytes_ != into_.size()) {
      wrong_size_ = true;
      return refuse(Fate::kPassing,
                    fmt::format("it has {} bytes, but should have {}", length, into_.size()));
    }
  }
  const bool knows_wrong =
      request_.bytes && length >= 0 && static_cast<std::uint64_t>(length) != *request_.bytes;
  if (!knows_wrong) return true;
  return refuse(Fate::kPassing, fmt::format("the server announced {} bytes instead of {}", length,
                                            *request_.bytes));
}

bool ObjectTransfer::take(std::span<const std::byte> bytes) {
  if (!begun_ && !begin_body()) return false;
  const std::uint64_t room = (grows_ != nullptr ? most_ : into_.size()) - received_;
  if (bytes.size() > room) {
    wrong_ = grows_ != nullptr ? Fate::kFinal : Fate::kPassing;
    why_wrong_ =
        fmt::format("the server sent more than {} bytes", grows_ != nullptr ? most_ : into_.size());
    return false;
  }
  if (grows_ != nullptr) {
    grows_->insert(grows_->end(), bytes.begin(), bytes.end());
  } else {
    std::memcpy(into_.data() + received_, bytes.data(), bytes.size());
  }
  received_ += bytes.size();
  return true;
}

ObjectAnswer ObjectTransfer::judge(CURLcode code) const {
  ObjectAnswer answer{.version = etag_.empty() ? modified_ : etag_,
                      .object_bytes = object_bytes_,
                      .received = received_};
  long version = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_HTTP_VERSION, &version);
  answer.multiplexed = version >= CURL_HTTP_VERSION_2_0;
  curl_off_t seconds = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &seconds);
  answer.wait_at_least = std::chrono::seconds(seconds);
  if (wrong_ != Fate::kDone) {
    answer.fate = wrong_;
    answer.reason = why_wrong_;
    answer.wrong_size = wrong_size_;
    return answer;
  }
  if (code == CURLE_OK && status() >= 300) return judge_status(std::move(answer));
  if (code != CURLE_OK) return judge_error(code, std::move(answer));
  if (grows_ == nullptr && received_ < into_.size()) {
    answer.fate = Fate::kPassing;
    answer.reason = fmt::format("{} of {} bytes came", received_, into_.size());
  }
  return answer;
}

ObjectAnswer ObjectTransfer::judge_status(ObjectAnswer answer) const {
  const long said = status();
  const std::string code = code_on_page(error_page_);
  answer.version.clear();
  answer.reason = fmt::format("the server answered {}{}", said, code.empty() ? "" : " " + code);
  if (std::ranges::find(kPassingStatuses, said) != std::end(kPassingStatuses) ||
      code == "SlowDown" || code == "RequestTimeout") {
    answer.fate = Fate::kPassing;
  } else if (said == 404 || said == 410) {
    answer.fate = Fate::kMissing;
    answer.reason += ": there is no such file";
  } else if (said == 401 || said == 403) {
    answer.fate = Fate::kRefused;
  } else {
    answer.fate = Fate::kFinal;
    if (said < 400 && !region_.empty()) {
      answer.reason += fmt::format(": the bucket is in region {}, set AWS_REGION", region_);
    }
  }
  return answer;
}

ObjectAnswer ObjectTransfer::judge_error(CURLcode code, ObjectAnswer answer) const {
  answer.reason = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  const bool passes = std::ranges::find(kPassingErrors, code) != std::end(kPassingErrors);
  answer.fate = passes ? Fate::kPassing : Fate::kFinal;
  if (code == CURLE_UNSUPPORTED_PROTOCOL) {
    answer.reason = "the server redirects to a less safe kind of URL, which is refused";
  }
  // It stays 1 where the name of the host is wrong: no authority helps there.
  long found = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_SSL_VERIFYRESULT, &found);
  if (code == CURLE_PEER_FAILED_VERIFICATION && found > 1) answer.fate = Fate::kUntrusted;
  return answer;
}

}  // namespace impart::data
