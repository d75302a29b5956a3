#include "impart/data/remote/object_reader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/remote/object_address.h"
#include "impart/data/remote/object_transfer.h"
#include "impart/data/remote/retry_pause.h"

namespace impart::data {
namespace {

using RetryClock = std::chrono::steady_clock;
using ReadFate = ObjectAnswer::Fate;

/// Requests at a time over a connection that serves several.
constexpr std::size_t kStreams = 4;
/// A wrong size seldom passes.
constexpr std::uint32_t kSizeRetries = 2;

/// The calls that wait for each other's reads.
struct ReadGroup {
  std::size_t left = 0;
  std::uint64_t received = 0;
};

/// One read on its way, over all its attempts.
struct PendingRead {
  ObjectRead read;
  std::vector<std::byte>* grows = nullptr;  ///< instead of read.into: a whole object
  std::uint64_t most = 0;
  ReadGroup* group = nullptr;

  std::uint64_t filled = 0;  ///< bytes that earlier attempts brought
  std::uint32_t failures = 0;
  std::uint32_t keys = 0;  ///< how often they had been renewed when it was sent
  RetryClock::time_point due = {};
  std::unique_ptr<ObjectTransfer> transfer = {};
  ReadFate fate = ReadFate::kDone;
  std::exception_ptr error = nullptr;
};

}  // namespace

/// The thread that talks to the server, and what it shares with the callers; `mutex_` guards it.
class ObjectReader::Loop {
 public:
  Loop(std::string_view root, const RemoteSpec& spec);
  ~Loop();

  const std::string& folder() const { return address_.folder(); }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t run(std::span<PendingRead> reads);

 private:
  void work();
  void start_due();
  void start(PendingRead& read);
  void collect();
  void settle(PendingRead& read, const ObjectAnswer& answer);
  bool has_new_keys(PendingRead& read);
  std::string check_object(PendingRead& read, const ObjectAnswer& answer);
  void try_again(PendingRead& read, const ObjectAnswer& answer);
  void end(PendingRead& read, ReadFate fate, std::exception_ptr error);
  std::string url_of(const PendingRead& read) const { return folder() + '/' + read.read.name; }
  int patience() const;

  RemoteSpec spec_;
  ObjectAddress address_;
  RetryPause pause_;
  CURLM* multi_;
  std::atomic<std::uint64_t> requests_ = 0;

  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<PendingRead*> waiting_;  ///< to be started, when due
  std::vector<PendingRead*> active_;
  std::unordered_map<std::string, std::string> versions_;  ///< of the objects, as first seen
  std::uint32_t renewals_ = 0;                             ///< of keys
  bool multiplexed_ = false;
  bool stopped_ = false;
  std::thread thread_;  ///< from the first read on
};

ObjectReader::Loop::Loop(std::string_view root, const RemoteSpec& spec)
    : spec_(spec), address_(root) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  multi_ = started == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi_ == nullptr) throw Error("libcurl cannot start");
  const auto connections = static_cast<long>(std::max(spec_.connections, 1u));
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
}

ObjectReader::Loop::~Loop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  curl_multi_wakeup(multi_);
  if (thread_.joinable()) thread_.join();
  curl_multi_cleanup(multi_);
}

std::uint64_t ObjectReader::Loop::run(std::span<PendingRead> reads) {
  ReadGroup group{.left = reads.size()};
  std::unique_lock lock(mutex_);
  for (PendingRead& read : reads) {
    read.group = &group;
    waiting_.push_back(&read);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  curl_multi_wakeup(multi_);
  done_.wait(lock, [&] { return group.left == 0; });
  return group.received;
}

void ObjectReader::Loop::work() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    start_due();
    const int patience_ms = patience();
    lock.unlock();
    int running = 0;
    curl_multi_perform(multi_, &running);
    lock.lock();
    const std::size_t before = active_.size();
    collect();
    if (active_.size() < before) continue;  // there is room for others
    lock.unlock();
    curl_multi_poll(multi_, nullptr, 0, patience_ms, nullptr);
    lock.lock();
  }
}

/// Milliseconds until the next read is due, at most a second.
int ObjectReader::Loop::patience() const {
  auto soonest = RetryClock::now() + std::chrono::seconds(1);
  for (const PendingRead* read : waiting_) {
    if (read->due != RetryClock::time_point{}) soonest = std::min(soonest, read->due);
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(soonest - RetryClock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count() + 1, 0));
}

void ObjectReader::Loop::start_due() {
  const std::size_t most = spec_.connections * (multiplexed_ ? kStreams : 1);
  const auto now = RetryClock::now();
  for (auto next = waiting_.begin(); next != waiting_.end() && active_.size() < most;) {
    PendingRead& read = **next;
    if (read.due > now) {
      ++next;
      continue;
    }
    next = waiting_.erase(next);
    try {
      start(read);
    } catch (...) {
      end(read, ReadFate::kFinal, std::current_exception());
    }
  }
}

void ObjectReader::Loop::start(PendingRead& read) {
  ObjectRequest request = address_.request_for(read.read.name);
  request.timeout = spec_.timeout;
  request.least_rate = spec_.least_rate;
  const std::span<std::byte> rest = read.read.into.subspan(read.filled);
  request.offset = read.read.offset + read.filled;
  const bool whole = request.offset == 0 && rest.size() == read.read.object_bytes;
  if (read.grows == nullptr && !whole) request.bytes = rest.size();
  if (read.grows != nullptr) read.grows->clear();
  const auto version = versions_.find(read.read.name);
  read.transfer = std::make_unique<ObjectTransfer>(
      std::move(request), version == versions_.end() ? "" : version->second, read.grows, read.most,
      rest);
  if (curl_multi_add_handle(multi_, read.transfer->handle()) != CURLM_OK) {
    throw Error("libcurl cannot start a request");
  }
  read.keys = renewals_;
  active_.push_back(&read);
  ++requests_;
}

void ObjectReader::Loop::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto place = std::find_if(active_.begin(), active_.end(), [&](const PendingRead* read) {
      return read->transfer->handle() == handle;
    });
    PendingRead& read = **place;
    active_.erase(place);
    const ObjectAnswer answer = read.transfer->judge(code);
    curl_multi_remove_handle(multi_, handle);
    read.transfer.reset();
    settle(read, answer);
  }
}

void ObjectReader::Loop::settle(PendingRead& read, const ObjectAnswer& answer) {
  multiplexed_ = multiplexed_ || answer.multiplexed;
  read.group->received += answer.received;
  const auto fail = [&](auto error) { end(read, answer.fate, std::make_exception_ptr(error)); };
  const std::string message = fmt::format("{}: {}", url_of(read), answer.reason);
  switch (answer.fate) {
    case ReadFate::kDone: {
      const std::string fault = check_object(read, answer);
      if (fault.empty()) return end(read, ReadFate::kDone, nullptr);
      ObjectAnswer wrong = answer;
      wrong.fate = ReadFate::kPassing;
      wrong.reason = fault;
      wrong.wrong_size = true;
      wrong.received = 0;
      read.filled = 0;
      return try_again(read, wrong);
    }
    case ReadFate::kPassing:
      return try_again(read, answer);
    case ReadFate::kMissing:
      return fail(DataError(message));
    case ReadFate::kRefused:
      if (has_new_keys(read)) return;
      return fail(IoError(message + address_.advice_when_refused()));
    case ReadFate::kUntrusted:
      return fail(IoError(message + address_.advice_when_untrusted()));
    case ReadFate::kChanged:
    case ReadFate::kFinal:
      return fail(IoError(message));
  }
}

/// A run may outlive its keys, which others renew in files: whoever is refused looks again, and who
/// was refused with keys that others found to be old tries the new ones.
bool ObjectReader::Loop::has_new_keys(PendingRead& read) {
  try {
    if (read.keys == renewals_ && !address_.refresh()) return false;
  } catch (const Error&) {
    return false;
  }
  if (read.keys == renewals_) ++renewals_;
  waiting_.push_front(&read);
  return true;
}

/// Remembers which version of the object this was. What is wrong with it; "" if nothing is.
std::string ObjectReader::Loop::check_object(PendingRead& read, const ObjectAnswer& answer) {
  const std::uint64_t wanted = read.read.object_bytes;
  if (wanted != 0 && answer.object_bytes != 0 && answer.object_bytes != wanted) {
    return fmt::format("it has {} bytes, but should have {}", answer.object_bytes, wanted);
  }
  if (!answer.version.empty()) versions_.emplace(read.read.name, answer.version);
  return "";
}

void ObjectReader::Loop::try_again(PendingRead& read, const ObjectAnswer& answer) {
  ++read.failures;
  // What came is good where it is known to be of the same version as what will follow.
  const auto version = versions_.find(read.read.name);
  const bool same = version != versions_.end() && version->second == answer.version;
  if (read.grows == nullptr && same) read.filled += answer.received;
  if (read.filled == read.read.into.size()) read.filled = 0;
  if (read.failures > (answer.wrong_size ? kSizeRetries : spec_.retries)) {
    const std::string message =
        fmt::format("{}: {}; gave up after {} attempt{}", url_of(read), answer.reason,
                    read.failures, read.failures == 1 ? "" : "s");
    return end(read, ReadFate::kPassing,
               answer.wrong_size ? std::make_exception_ptr(DataError(message))
                                 : std::make_exception_ptr(IoError(message)));
  }
  read.due = RetryClock::now() + pause_.after(read.failures, answer.wait_at_least);
  waiting_.push_back(&read);
}

void ObjectReader::Loop::end(PendingRead& read, ReadFate fate, std::exception_ptr error) {
  read.fate = fate;
  read.error = std::move(error);
  if (--read.group->left == 0) done_.notify_all();
}

ObjectReader::ObjectReader(std::string_view root, const RemoteSpec& spec)
    : loop_(std::make_unique<Loop>(root, spec)) {}
ObjectReader::~ObjectReader() = default;

const std::string& ObjectReader::folder() const {
  return loop_->folder();
}

std::uint64_t ObjectReader::requests() const {
  return loop_->requests();
}

std::uint64_t ObjectReader::read(std::span<const ObjectRead> reads) {
  std::vector<PendingRead> pending;
  pending.reserve(reads.size());
  for (const ObjectRead& read : reads) {
    if (read.into.empty()) continue;
    pending.emplace_back().read = read;
  }
  if (pending.empty()) return 0;
  const std::uint64_t received = loop_->run(pending);
  for (const PendingRead& read : pending) {
    if (read.error) std::rethrow_exception(read.error);
  }
  return received;
}

std::vector<std::byte> ObjectReader::read_whole(const std::string& name, std::uint64_t most) {
  std::vector<std::byte> bytes;
  PendingRead read{.read = {.name = name}, .grows = &bytes, .most = most};
  loop_->run({&read, 1});
  if (read.error) std::rethrow_exception(read.error);
  return bytes;
}

std::optional<std::vector<std::byte>> ObjectReader::read_if_there(const std::string& name,
                                                                  std::uint64_t most) {
  std::vector<std::byte> bytes;
  PendingRead read{.read = {.name = name}, .grows = &bytes, .most = most};
  loop_->run({&read, 1});
  if (read.fate == ReadFate::kMissing || read.fate == ReadFate::kRefused) return std::nullopt;
  if (read.error) std::rethrow_exception(read.error);
  return bytes;
}

}  // namespace impart::data
