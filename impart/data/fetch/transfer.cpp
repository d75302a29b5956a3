#include "impart/data/fetch/transfer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <exception>
#include <memory>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/fetch/fetch.h"

namespace impart::data {
namespace {

constexpr long kMostRedirects = 10;
constexpr CURLcode kTransient[] = {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
                                   CURLE_COULDNT_CONNECT,      CURLE_PARTIAL_FILE,
                                   CURLE_RECV_ERROR,           CURLE_SEND_ERROR,
                                   CURLE_GOT_NOTHING,          CURLE_HTTP2,
                                   CURLE_HTTP2_STREAM,         CURLE_OPERATION_TIMEDOUT,
                                   CURLE_SSL_CONNECT_ERROR};
constexpr long kBusy[] = {408, 425, 429, 500, 502, 503, 504};
constexpr long kNothingThere = 416;  // the part ends at or after the end of the file

template <class Value, std::size_t N>
bool contains(const Value (&values)[N], Value value) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

/// The headers of the last response that matter here.
struct Headers {
  FileVersion version;
  std::string content_range;
  std::string location;
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

void note_header(Headers& headers, std::string_view line) {
  if (line.starts_with("HTTP/")) headers = {};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string value(trim(line.substr(colon + 1)));
  if (equal_ignoring_case(name, "etag")) headers.version.etag = value;
  if (equal_ignoring_case(name, "last-modified")) headers.version.last_modified = value;
  if (equal_ignoring_case(name, "content-range")) headers.content_range = value;
  if (equal_ignoring_case(name, "location")) headers.location = value;
}

/// Whether "bytes 100-199/200" begins at `start`.
bool range_begins_at(std::string_view content_range, std::uint64_t start) {
  constexpr std::string_view kUnit = "bytes ";
  if (!content_range.starts_with(kUnit)) return false;
  content_range.remove_prefix(kUnit.size());
  std::uint64_t first = 0;
  const char* end = content_range.data() + content_range.size();
  const auto [stopped, error] = std::from_chars(content_range.data(), end, first);
  return error == std::errc{} && stopped != end && *stopped == '-' && first == start;
}

/// What a server compares with, before it goes on in the middle of a file. A weak ETag may stand
/// for other bytes, so that it will not do.
std::string if_range(const FileVersion& version) {
  if (!version.etag.empty() && !version.etag.starts_with("W/")) return version.etag;
  return version.last_modified;
}

class Attempt {
  using Clock = std::chrono::steady_clock;

 public:
  Attempt(const TransferSpec& spec, PartFile& part);
  std::optional<TransientFailure> run();

 private:
  template <class Option, class Value>
  void set(Option option, Value value);
  void set_up();
  void ask_for_the_rest();
  long status() const;
  bool is_refused() const { return status() >= 300; }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static int on_tick(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
  void watch_speed(curl_off_t received);
  void begin_body();
  void take(std::span<const std::byte> bytes);

  TransientFailure unsuccessful(std::string_view reason) const;
  TransientFailure too_slow() const;
  std::optional<TransientFailure> judge_status();
  std::optional<TransientFailure> judge_error(CURLcode code) const;

  const TransferSpec& spec_;
  PartFile& part_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> lines_{nullptr, &curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::uint64_t asked_from_ = 0;
  Headers headers_;
  bool begun_ = false;
  bool has_changed_ = false;
  std::uint64_t total_ = 0;
  curl_off_t received_ = 0;
  Clock::time_point last_news_ = Clock::now();
  bool is_stalled_ = false;
  Clock::time_point period_start_ = Clock::now();
  curl_off_t received_before_ = 0;        ///< that period
  std::optional<std::uint64_t> too_few_;  ///< bytes that came in a whole period
  std::exception_ptr thrown_;             ///< in a callback, through which it cannot travel
};

Attempt::Attempt(const TransferSpec& spec, PartFile& part)
    : spec_(spec), part_(part), curl_(nullptr, &curl_easy_cleanup) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  curl_.reset(curl_easy_init());
  if (started != CURLE_OK || curl_ == nullptr) throw Error("libcurl cannot start");
}

template <class Option, class Value>
void Attempt::set(Option option, Value value) {
  const CURLcode code = curl_easy_setopt(curl_.get(), option, value);
  if (code != CURLE_OK) throw Error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
}

void Attempt::set_up() {
  const bool is_https = spec_.url.starts_with("https:");
  set(CURLOPT_URL, spec_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "https,http,file");
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "https,http");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  set(CURLOPT_USERAGENT, "impart");
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_HEADERFUNCTION, &Attempt::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Attempt::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Attempt::on_tick);
  set(CURLOPT_XFERINFODATA, this);
  if (!spec_.certificates.empty()) set(CURLOPT_CAINFO, spec_.certificates.c_str());
  ask_for_the_rest();
}

/// A local file is copied from its beginning: it has no version that could be compared.
void Attempt::ask_for_the_rest() {
  if (part_.size() == 0 || spec_.url.starts_with("file:")) return;
  asked_from_ = part_.size();
  // Not CURLOPT_RESUME_FROM, with which the answer of a server without ranges is an error.
  set(CURLOPT_RANGE, fmt::format("{}-", asked_from_).c_str());
  const std::string version = if_range(part_.version());
  if (version.empty()) return;
  lines_.reset(curl_slist_append(nullptr, fmt::format("If-Range: {}", version).c_str()));
  set(CURLOPT_HTTPHEADER, lines_.get());
}

long Attempt::status() const {
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::size_t Attempt::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  note_header(static_cast<Attempt*>(self)->headers_, {data, size * count});
  return size * count;
}

std::size_t Attempt::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& attempt = *static_cast<Attempt*>(self);
  if (attempt.is_refused()) return 0;  // the page that explains the error is not wanted
  try {
    attempt.take(std::as_bytes(std::span(data, size * count)));
  } catch (...) {
    attempt.thrown_ = std::current_exception();
    return 0;
  }
  return attempt.has_changed_ ? 0 : size * count;
}

/// libcurl calls it at least once a second, from the first look-up of the host on.
int Attempt::on_tick(void* self, curl_off_t, curl_off_t received, curl_off_t, curl_off_t) {
  auto& attempt = *static_cast<Attempt*>(self);
  attempt.watch_speed(received);
  const bool is_hopeless = attempt.is_stalled_ || attempt.too_few_;
  const auto& stop_requested = attempt.spec_.stop_requested;
  return is_hopeless || (stop_requested && stop_requested()) ? 1 : 0;
}

void Attempt::watch_speed(curl_off_t received) {
  const auto now = Clock::now();
  if (received != received_) last_news_ = now;
  received_ = received;
  is_stalled_ = now - last_news_ >= spec_.stall;
  if (now - period_start_ < spec_.stall) return;
  const auto came = static_cast<std::uint64_t>(received - received_before_);
  const auto seconds = std::chrono::duration<double>(now - period_start_).count();
  if (static_cast<double>(came) < static_cast<double>(spec_.least_rate) * seconds) too_few_ = came;
  period_start_ = now;
  received_before_ = received;
}

/// Decides whether the body goes on after the part or is a whole file.
void Attempt::begin_body() {
  begun_ = true;
  const bool goes_on = asked_from_ > 0 && status() == 206;
  const FileVersion& before = part_.version();
  has_changed_ = goes_on && (!range_begins_at(headers_.content_range, asked_from_) ||
                             (before != FileVersion{} && before != headers_.version));
  if (has_changed_ || !goes_on) part_.restart(has_changed_ ? FileVersion{} : headers_.version);
  curl_off_t length = -1;
  curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length >= 0) total_ = part_.size() + static_cast<std::uint64_t>(length);
  if (has_changed_ || spec_.bytes == 0 || length < 0 || total_ == spec_.bytes) return;
  throw DataError(
      fmt::format("{}: has {} bytes, but should have {}", spec_.url, total_, spec_.bytes));
}

void Attempt::take(std::span<const std::byte> bytes) {
  if (!begun_) begin_body();
  if (has_changed_) return;
  if (spec_.bytes > 0 && part_.size() + bytes.size() > spec_.bytes) {
    throw DataError(
        fmt::format("{}: sends more than the {} bytes it should have", spec_.url, spec_.bytes));
  }
  part_.append(bytes);
  if (spec_.progress) spec_.progress(part_.size(), spec_.bytes > 0 ? spec_.bytes : total_);
}

std::optional<TransientFailure> Attempt::run() {
  set_up();
  const CURLcode code = curl_easy_perform(curl_.get());
  if (thrown_) std::rethrow_exception(thrown_);
  if (is_stalled_) return unsuccessful(fmt::format("nothing came for {} s", spec_.stall.count()));
  if (too_few_) return too_slow();
  if (code == CURLE_ABORTED_BY_CALLBACK) throw FetchStopped("stopped");
  if (has_changed_) return unsuccessful("the file on the server is another one than before");
  const bool has_answer = code == CURLE_OK || code == CURLE_WRITE_ERROR;
  if (has_answer && is_refused()) return judge_status();
  if (code != CURLE_OK) return judge_error(code);
  if (!begun_) begin_body();
  if (part_.size() == 0) throw DataError(fmt::format("{}: is empty", spec_.url));
  if (part_.size() < spec_.bytes) return unsuccessful("the file ended too early");
  return std::nullopt;
}

TransientFailure Attempt::unsuccessful(std::string_view reason) const {
  curl_off_t seconds = 0, connected_after = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &seconds);
  curl_easy_getinfo(curl_.get(), CURLINFO_CONNECT_TIME_T, &connected_after);
  return {.reason = fmt::format("{}: {}", spec_.url, reason),
          .reached = connected_after > 0,
          .wait_at_least = std::chrono::seconds(seconds)};
}

TransientFailure Attempt::too_slow() const {
  TransientFailure failure =
      unsuccessful(fmt::format("only {} bytes came in {} s, less than {} a second (--min-rate)",
                               *too_few_, spec_.stall.count(), spec_.least_rate));
  failure.slow = true;
  return failure;
}

std::optional<TransientFailure> Attempt::judge_status() {
  const long answer = status();
  if (answer == kNothingThere && asked_from_ > 0) {
    part_.restart({});
    return unsuccessful("the file on the server is shorter than what was fetched before");
  }
  const std::string reason = fmt::format("the server answered {}", answer);
  if (contains(kBusy, answer)) return unsuccessful(reason);
  throw DataError(
      fmt::format("{}: {}{}", spec_.url, reason, answer == 404 ? ": there is no such file" : ""));
}

std::optional<TransientFailure> Attempt::judge_error(CURLcode code) const {
  const std::string_view text =
      error_text_[0] != '\0' ? std::string_view(error_text_.data()) : curl_easy_strerror(code);
  if (contains(kTransient, code)) return unsuccessful(text);
  if (code == CURLE_UNSUPPORTED_PROTOCOL && !headers_.location.empty()) {
    throw DataError(fmt::format("{}: the server redirects to {}, which is refused", spec_.url,
                                headers_.location));
  }
  const std::string message = fmt::format("{}: {}", spec_.url, text);
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) throw ConfigError(message);
  if (code == CURLE_FILE_COULDNT_READ_FILE || code == CURLE_TOO_MANY_REDIRECTS) {
    throw DataError(message);
  }
  throw IoError(message);
}

}  // namespace

std::optional<TransientFailure> transfer(const TransferSpec& spec, PartFile& part) {
  return Attempt(spec, part).run();
}

}  // namespace impart::data
