// Collectives and messages over MPI. Every one is started without blocking and then polled, because
// a call that blocks inside MPI would never notice that another process is gone.

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "impart/comm/communicator.h"
#include "impart/comm/launcher.h"
#include "impart/comm/lookout.h"
#include "impart/comm/mpi_session.h"
#include "impart/core/error.h"

namespace impart::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// How long an exception waits for operations that use memory it is about to free.
constexpr auto kAbandonLimit = std::chrono::seconds(1);
/// How long a wait keeps its core before it begins to sleep, for 1/200 of what it has waited and at
/// most a millisecond at a time: no wait becomes much longer.
constexpr auto kAwake = std::chrono::milliseconds(10);
constexpr auto kLongestSleep = std::chrono::milliseconds(1);
constexpr int kSleepShare = 200;

/// One wait, in pauses.
class Patience {
 public:
  void pause() const {
    const Clock::duration waited = Clock::now() - since_;
    if (waited < kAwake) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min<Clock::duration>(kLongestSleep, waited / kSleepShare));
    }
  }

 private:
  Clock::time_point since_ = Clock::now();
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MpiSession session, const CommunicatorSpec& spec, std::uint32_t rank,
                  std::uint32_t size)
      : Communicator(rank, size),
        session_(session),
        spec_(spec),
        exceptions_(std::uncaught_exceptions()),
        lookout_(MPI_COMM_WORLD, spec, mpi_) {
    for (MPI_Comm* communicator : {&communicator_, &messages_}) {
      MPI_Comm_dup(MPI_COMM_WORLD, communicator);
      MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    }
    session_.keep_core_in_calls();
    lookout_.start();
  }

  ~MpiCommunicator() override {
    if (unwinding()) announce_failure("it was ended by an exception");
    if (failure_) return;  // MPI_Finalize would wait for those who cannot come
    try {
      do_barrier();
    } catch (const PeerError&) {
      return;
    }
    lookout_.stop();
    session_.end();
  }

  void set_activity(const Activity& activity) override { lookout_.set_activity(activity); }

  /// Holds mpi_ to the end: no thread leaves a call and frees its buffers while MPI is still used.
  void announce_failure(std::string_view reason) noexcept override {
    const std::lock_guard lock(mpi_);
    if (failure_) return;
    try {
      failure_ = std::current_exception();
      if (!failure_) fail("this process has announced its failure");
      lookout_.announce(reason);
    } catch (const std::exception&) {
      return;  // no memory for messages: the launcher ends the others
    }
  }

  void wait_until(const std::function<bool()>& done) override {
    begin_collective();
    for (const Patience patience; !done(); patience.pause()) look_after_peers({});
    lookout_.end_wait();
  }

  enum class Progress { kNone, kSome, kAll };

  /// How many of the requests are done that were not before. PeerError if some never will be.
  Progress poll(std::span<MPI_Request> requests, std::optional<std::uint32_t> awaited = {}) {
    const auto test_some = [&] {
      int done = 0;
      call("MPI_Testsome", [&] {
        finished_.resize(requests.size());
        return MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done,
                            finished_.data(), MPI_STATUSES_IGNORE);
      });
      return done;
    };
    const int first = test_some();
    int last = first;
    while (last > 0) last = test_some();
    if (first == 0) {
      look_after_peers(awaited);
      return Progress::kNone;
    }
    lookout_.end_wait();
    return last == MPI_UNDEFINED ? Progress::kAll : Progress::kSome;
  }

  bool test(std::span<MPI_Request> requests, std::optional<std::uint32_t> awaited = {}) {
    return poll(requests, awaited) == Progress::kAll;
  }

  /// Sleeps only where nothing moves.
  void wait(std::span<MPI_Request> requests, std::optional<std::uint32_t> awaited = {}) {
    Patience patience;
    while (true) {
      const Progress progress = poll(requests, awaited);
      if (progress == Progress::kAll) return;
      if (progress == Progress::kSome) patience = {};
      patience.pause();
    }
  }

  /// Waits, but during an exception not for ever.
  void abandon(std::span<MPI_Request> requests) noexcept {
    const auto limit = Clock::now() + kAbandonLimit;
    try {
      for (const Patience patience; !test(requests); patience.pause()) {
        if (unwinding() && Clock::now() > limit) give_up("an operation was abandoned");
      }
    } catch (...) {
      return;  // the next collective says it again
    }
  }

 private:
  class Operation;
  class Reduce;
  class Send;
  class Receive;

  bool unwinding() const { return std::uncaught_exceptions() > exceptions_; }

  /// Requests may stay under way whose memory is freed soon: from here on MPI must not be called.
  [[noreturn]] void give_up(const std::string& reason) {
    const std::lock_guard lock(mpi_);
    if (!failure_) fail(reason);
    lookout_.fall_silent();
    std::rethrow_exception(failure_);
  }

  /// The caller holds mpi_.
  void fail(const std::string& reason) { failure_ = std::make_exception_ptr(PeerError(reason)); }

  /// The caller holds mpi_.
  void require_usable() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Makes one call of MPI.
  template <class Call>
  void call(const char* name, Call&& make_call) {
    std::string error;
    {
      const std::lock_guard lock(mpi_);
      require_usable();
      const int code = make_call();
      if (code != MPI_SUCCESS) error = describe_mpi_error(code, name);
    }
    if (!error.empty()) give_up(error);
  }

  void begin_collective() {
    {
      const std::lock_guard lock(mpi_);
      require_usable();
    }
    lookout_.count_collective();
  }

  void look_after_peers(std::optional<std::uint32_t> awaited) {
    const auto failure = lookout_.look(awaited);
    if (failure) give_up(*failure);
  }

  /// Starts one call of MPI, which takes the place for its request, and waits for it.
  template <class Start>
  void run(const char* name, Start&& start) {
    std::array<MPI_Request, 1> request = {MPI_REQUEST_NULL};
    call(name, [&] { return start(request.data()); });
    wait(request);
  }

  static MPI_Datatype type_of(Element element) {
    if (element == Element::kFloat) return MPI_FLOAT;
    return element == Element::kDouble ? MPI_DOUBLE : MPI_INT64_T;
  }

  int start(const Values& chunk, Reduction reduction, MPI_Request* request) {
    return MPI_Iallreduce(MPI_IN_PLACE, chunk.data, static_cast<int>(chunk.count),
                          type_of(chunk.element), reduction == Reduction::kSum ? MPI_SUM : MPI_MAX,
                          communicator_, request);
  }

  template <class Function>
  void for_each_chunk(const Values& values, Function&& function) {
    const std::size_t width = values.element == Element::kFloat ? 4 : 8;
    const std::size_t step = spec_.chunk_bytes / width;
    for (std::size_t first = 0; first < values.count; first += step) {
      std::byte* data = static_cast<std::byte*>(values.data) + first * width;
      function(Values{data, std::min(step, values.count - first), values.element});
    }
  }

  void do_barrier() override {
    begin_collective();
    run("MPI_Ibarrier", [&](MPI_Request* r) { return MPI_Ibarrier(communicator_, r); });
  }

  void do_broadcast(std::span<std::byte> bytes, std::uint32_t root) override {
    begin_collective();
    while (!bytes.empty()) {
      const auto chunk = bytes.first(std::min(bytes.size(), spec_.chunk_bytes));
      run("MPI_Ibcast", [&](MPI_Request* r) {
        return MPI_Ibcast(chunk.data(), static_cast<int>(chunk.size()), MPI_BYTE,
                          static_cast<int>(root), communicator_, r);
      });
      bytes = bytes.subspan(chunk.size());
    }
  }

  void do_all_reduce(const Values& values, Reduction reduction) override {
    begin_collective();
    for_each_chunk(values, [&](const Values& chunk) {
      run("MPI_Iallreduce", [&](MPI_Request* r) { return start(chunk, reduction, r); });
    });
  }

  std::unique_ptr<PendingOperation> do_start_all_reduce(const Values& values,
                                                        Reduction reduction) override;
  std::unique_ptr<PendingOperation> do_start_send(std::span<const std::byte> bytes,
                                                  std::uint32_t to, std::uint32_t tag) override;
  std::unique_ptr<PendingOperation> do_start_receive(std::span<std::byte> bytes, std::uint32_t from,
                                                     std::uint32_t tag) override;

  void do_all_gather(std::span<const std::byte> mine, std::span<const std::size_t> ends,
                     std::span<std::byte> all) override {
    begin_collective();
    if (all.size() > spec_.gather_bytes) return gather_by_broadcasts(mine, ends, all);
    std::vector<int> starts(ends.size()), counts(ends.size());
    for (std::size_t p = 0; p < ends.size(); ++p) {
      starts[p] = p == 0 ? 0 : static_cast<int>(ends[p - 1]);
      counts[p] = static_cast<int>(ends[p]) - starts[p];
    }
    run("MPI_Iallgatherv", [&](MPI_Request* r) {
      return MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(),
                             counts.data(), starts.data(), MPI_BYTE, communicator_, r);
    });
  }

  void gather_by_broadcasts(std::span<const std::byte> mine, std::span<const std::size_t> ends,
                            std::span<std::byte> all) {
    const std::size_t own = ends[rank()] - mine.size();
    std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(own));
    for (std::uint32_t root = 0; root < size(); ++root) {
      const std::size_t start = root == 0 ? 0 : ends[root - 1];
      do_broadcast(all.subspan(start, ends[root] - start), root);
    }
  }

  MpiSession session_;
  CommunicatorSpec spec_;
  int exceptions_;
  /// Held around every call of MPI, which other threads make, too, and guards what stands before
  /// it.
  std::mutex mpi_;
  Lookout lookout_;
  MPI_Comm communicator_ = MPI_COMM_NULL;  ///< of the collectives
  MPI_Comm messages_ = MPI_COMM_NULL;      ///< of sends and receives
  std::vector<int> finished_;              ///< what MPI_Testsome has found, for the next time
  std::exception_ptr failure_;             ///< why MPI is not called any more; null: it is
};

/// Requests under way, and what becomes of them at the end.
class MpiCommunicator::Operation : public PendingOperation {
 public:
  /// `awaited` is who it is with; nobody: all.
  explicit Operation(MpiCommunicator& communicator, std::optional<std::uint32_t> awaited = {})
      : communicator_(communicator), awaited_(awaited) {}
  ~Operation() override {
    if (!done_) communicator_.abandon(requests_);
  }

  bool test() override {
    done_ = done_ || communicator_.test(requests_, awaited_);
    return done_;
  }
  void wait() override {
    if (!done_) communicator_.wait(requests_, awaited_);
    done_ = true;
  }

 protected:
  /// Starts one call of MPI, which takes the place for its request.
  template <class Start>
  void add(const char* name, Start&& start) {
    requests_.push_back(MPI_REQUEST_NULL);
    communicator_.call(name, [&] { return start(&requests_.back()); });
  }
  void call_off() {
    const std::lock_guard lock(communicator_.mpi_);
    if (done_ || communicator_.failure_) return;
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    }
  }

  MpiCommunicator& communicator_;

 private:
  std::optional<std::uint32_t> awaited_;
  std::vector<MPI_Request> requests_;
  bool done_ = false;
};

/// All chunks are started at once: all-reduces must start in the same order on every process, and
/// two of them may be under way.
class MpiCommunicator::Reduce final : public Operation {
 public:
  Reduce(MpiCommunicator& communicator, const Values& values, Reduction reduction)
      : Operation(communicator) {
    communicator_.for_each_chunk(values, [&](const Values& chunk) {
      add("MPI_Iallreduce",
          [&](MPI_Request* r) { return communicator_.start(chunk, reduction, r); });
    });
  }
};

class MpiCommunicator::Send final : public Operation {
 public:
  Send(MpiCommunicator& communicator, std::span<const std::byte> bytes, std::uint32_t to,
       std::uint32_t tag)
      : Operation(communicator, to) {
    add("MPI_Isend", [&](MPI_Request* r) {
      return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(to),
                       static_cast<int>(tag), communicator_.messages_, r);
    });
  }
};

class MpiCommunicator::Receive final : public Operation {
 public:
  Receive(MpiCommunicator& communicator, std::span<std::byte> bytes, std::uint32_t from,
          std::uint32_t tag)
      : Operation(communicator, from) {
    add("MPI_Irecv", [&](MPI_Request* r) {
      return MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                       static_cast<int>(from), static_cast<int>(tag), communicator_.messages_, r);
    });
  }
  ~Receive() override { call_off(); }
};

std::unique_ptr<PendingOperation> MpiCommunicator::do_start_all_reduce(const Values& values,
                                                                       Reduction reduction) {
  begin_collective();
  return std::make_unique<Reduce>(*this, values, reduction);
}

std::unique_ptr<PendingOperation> MpiCommunicator::do_start_send(std::span<const std::byte> bytes,
                                                                 std::uint32_t to,
                                                                 std::uint32_t tag) {
  return std::make_unique<Send>(*this, bytes, to, tag);
}

std::unique_ptr<PendingOperation> MpiCommunicator::do_start_receive(std::span<std::byte> bytes,
                                                                    std::uint32_t from,
                                                                    std::uint32_t tag) {
  return std::make_unique<Receive>(*this, bytes, from, tag);
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const Launcher& launcher,
                                                    const CommunicatorSpec& spec) {
  constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();
  if (spec.chunk_bytes < 8 || spec.chunk_bytes > kMostBytes || spec.gather_bytes > kMostBytes) {
    throw ConfigError("a communicator's chunks have 8 to 2^31 - 1 bytes");
  }
  MpiSession session(spec.short_queues);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (launcher.processes != 0 && launcher.processes != static_cast<std::uint32_t>(size)) {
    session.end();
    throw ConfigError(fmt::format(
        "{} started {} processes, but MPI knows of {}: the launcher belongs to another MPI",
        launcher.name, launcher.processes, size));
  }
  return std::make_unique<MpiCommunicator>(session, spec, static_cast<std::uint32_t>(rank),
                                           static_cast<std::uint32_t>(size));
}

}  // namespace impart::comm
