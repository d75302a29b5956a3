#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace impart::comm {

/// What one process has sent. Nothing reports what an MPI library really sends, so this is what the
/// operation costs at least, with P processes and b bytes per call:
///
///     operation    bytes sent by a process          messages
///     barrier      0                                ⌈log2 P⌉
///     broadcast    (P-1)·b at the root, else 0      P-1 at the root, else 0
///     all-reduce   2·b·(P-1)/P, rounded down        2·(P-1)
///     all-gather   (P-1)·b, b its own contribution  P-1
///     send         b                                1
///     receive      0                                0
///
/// Summed over the processes it is the traffic of the job, without the processes' signs of life, of
/// 40 bytes each. One process alone sends nothing.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

/// An all-reduce, a send or a receive under way. Its buffer belongs to the communicator until
/// test() has returned true or wait() has returned; must not outlive the communicator. Destroying
/// it early waits; a receive is called off instead.
class PendingOperation {
 public:
  PendingOperation() = default;
  virtual ~PendingOperation() = default;
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

  /// Whether it is done; never blocks. Data moves only inside calls of the communicator, so call it
  /// now and then while computing. PeerError as for the collectives.
  virtual bool test() = 0;
  virtual void wait() = 0;
};

/// What a process is at, for messages to people.
struct Activity {
  std::string_view phase;   ///< "train", "evaluate"; at most 23 letters are shown
  std::uint32_t epoch = 0;  ///< from 0
  std::uint32_t step = 0;   ///< steps done in it
};

/// The processes of a job and what they do together. A lone process is a job of one, so callers
/// never ask whether they are distributed.
///
/// Collectives work in place on the caller's memory, of any size, and return when the caller may
/// use it again. All processes pass spans of equal length. When another process of the job fails,
/// dies, or is not heard of for CommunicatorSpec::timeout, a collective throws PeerError instead of
/// waiting for ever (see impart/comm/job.h); after that every further one does so too. A process
/// that lives is waited for without end, however slow.
///
/// Sends and receives are for any thread at any time, each operation for one at a time: a thread
/// may exchange messages while another adds up gradients. traffic() and announce_failure() are,
/// too. All else is for one thread at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// This process: 0..size()-1.
  std::uint32_t rank() const { return rank_; }
  /// The number of processes, at least 1.
  std::uint32_t size() const { return size_; }

  /// Returns when every process has called it.
  /// Collective: every process calls it, in the same order.
  void barrier();

  /// Gives every process the bytes of process `root`.
  /// Collective: every process calls it, in the same order.
  void broadcast(std::span<std::byte> bytes, std::uint32_t root);

  /// Replaces every element by its sum, or its largest, over the processes. All processes get the
  /// same bits; which bits a floating-point sum has depends on the number of processes (exact_sum.h
  /// has one that does not). The largest of numbers and NaN may be either.
  /// Collective: every process calls it, in the same order.
  void all_reduce_sum(std::span<float> values);
  void all_reduce_sum(std::span<double> values);
  void all_reduce_sum(std::span<std::int64_t> values);
  void all_reduce_max(std::span<float> values);
  void all_reduce_max(std::span<double> values);
  void all_reduce_max(std::span<std::int64_t> values);

  /// all_reduce_sum that returns at once, to compute while the sums travel. Several may be under
  /// way.
  /// Collective: every process calls it, in the same order.
  std::unique_ptr<PendingOperation> start_all_reduce_sum(std::span<float> values);

  /// Sends bytes to, or receives bytes from, another process, without waiting. What is sent to one
  /// process with one tag arrives in that order; sends never meet collectives. The receiver asks
  /// for exactly as many bytes as are sent. A send may be done before it is received.
  /// ConfigError if the other is this process or none of the job, the tag is above kLargestTag, or
  /// there are more than 2^31 - 1 bytes.
  std::unique_ptr<PendingOperation> start_send(std::span<const std::byte> bytes, std::uint32_t to,
                                               std::uint32_t tag);
  std::unique_ptr<PendingOperation> start_receive(std::span<std::byte> bytes, std::uint32_t from,
                                                  std::uint32_t tag);
  static constexpr std::uint32_t kLargestTag = 32'767;

  /// Lines up what every process contributes, in the order of ranks. `counts` holds the number of
  /// elements of each process, so counts[rank()] == mine.size(), and `all` has room for their sum;
  /// ConfigError otherwise.
  /// Collective: every process calls it, in the same order.
  void all_gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
                  std::span<std::byte> all);
  void all_gather(std::span<const float> mine, std::span<const std::size_t> counts,
                  std::span<float> all);

  /// Returns when `done` does so with true; it is called again and again. PeerError as for the
  /// collectives. For work that other means than this communicator carry out together.
  virtual void wait_until(const std::function<bool()>& done) = 0;
  /// Counts an all-reduce of so many bytes that other means have carried out.
  void note_all_reduce(std::size_t bytes) { count(cost_of_all_reduce(bytes)); }
  /// What an all-reduce of so many bytes sends.
  Traffic cost_of_all_reduce(std::size_t bytes) const;

  /// What this process is at, should others have to wait for it.
  virtual void set_activity(const Activity&) {}

  /// What this process has sent since the communicator was made.
  Traffic traffic() const { return {.bytes = bytes_sent_, .messages = messages_sent_}; }

  /// Tells the other processes that this one ends now, and why: their current or next collective
  /// throws PeerError with this reason. Waits up to 1.5 s for them to end first, so that their
  /// exit code is the one the launcher sees. Never throws. No collective may follow: what another
  /// thread of this process has under way ends with the exception that is being handled here, so
  /// that this process says what has happened to it, whichever thread it happened to.
  virtual void announce_failure(std::string_view reason) noexcept = 0;

 protected:
  enum class Element { kFloat, kDouble, kInt64 };
  enum class Reduction { kSum, kMax };
  /// An array of one of the element types, as implementations get it.
  struct Values {
    void* data;
    std::size_t count;
    Element element;
  };

  Communicator(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}

 private:
  virtual void do_barrier() = 0;
  virtual void do_broadcast(std::span<std::byte> bytes, std::uint32_t root) = 0;
  virtual void do_all_reduce(const Values& values, Reduction reduction) = 0;
  virtual std::unique_ptr<PendingOperation> do_start_all_reduce(const Values& values,
                                                                Reduction reduction) = 0;
  virtual std::unique_ptr<PendingOperation> do_start_send(std::span<const std::byte> bytes,
                                                          std::uint32_t to, std::uint32_t tag) = 0;
  virtual std::unique_ptr<PendingOperation> do_start_receive(std::span<std::byte> bytes,
                                                             std::uint32_t from,
                                                             std::uint32_t tag) = 0;
  /// `ends[p]` is where the bytes of process p end in `all`.
  virtual void do_all_gather(std::span<const std::byte> mine, std::span<const std::size_t> ends,
                             std::span<std::byte> all) = 0;

  template <class T>
  void reduce(std::span<T> values, Reduction reduction);
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> counts,
              std::span<std::byte> all, std::size_t width);
  void count(const Traffic& sent);
  void check_peer(std::size_t bytes, std::uint32_t peer, std::uint32_t tag) const;

  std::uint32_t rank_;
  std::uint32_t size_;
  std::atomic<std::uint64_t> bytes_sent_ = 0, messages_sent_ = 0;
};

/// How processes wait for each other, and how data is cut for MPI, whose counts are 32 bits wide.
struct CommunicatorSpec {
  /// A process that nothing was heard of for so long is lost: it is stopped, or the way to it is
  /// cut. Equal on all processes. 0: never.
  std::chrono::milliseconds timeout = std::chrono::seconds(300);
  /// A wait of this length is told: who is waited for, and what they are at. By one process for all
  /// that wait, once per wait; on the thread that waits.
  std::chrono::milliseconds long_wait = std::chrono::seconds(30);
  std::function<void(const std::string&)> on_long_wait = {};
  /// Bytes of one MPI call, at least 8. Pieces that stay in the cache are faster than one big call.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Over TCP only 256 KiB of messages queue in a connection, so that sums do not wait for long
  /// behind those that another thread sends. Slower where the network carries more than that in the
  /// time to and fro: beyond 20 Gb/s at 100 us. A user's own btl_tcp_sndbuf for Open MPI stands.
  bool short_queues = false;
  /// An all-gather of more bytes goes as one broadcast per process. Below 2^31.
  std::size_t gather_bytes = (std::size_t{1} << 31) - 1;
};

/// The job this process belongs to: MPI if mpirun or srun started several, else this process alone,
/// without starting MPI at all. ConfigError if a launcher was used that this program cannot join.
/// Destroying it ends MPI in order if no exception is under way; else it announces a failure.
/// Collective: every process calls it, in the same order.
std::unique_ptr<Communicator> make_communicator(const CommunicatorSpec& spec = {});

/// This process alone, whoever started it.
std::unique_ptr<Communicator> make_single_communicator();

}  // namespace impart::comm
