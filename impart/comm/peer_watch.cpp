#include "impart/comm/peer_watch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTag = 1;
constexpr auto kAnnounceLimit = std::chrono::milliseconds(1500);
constexpr auto kAcknowledgeLimit = std::chrono::milliseconds(100);
constexpr auto kPause = std::chrono::milliseconds(1);

/// Where a process runs: two of the same kernel and the same process-id namespace see each other.
struct Place {
  std::array<char, 48> kernel{};
  std::uint64_t pid_namespace = 0;
  std::int64_t pid = 0;

  bool sees(const Place& other) const {
    return kernel[0] != 0 && kernel == other.kernel && pid_namespace == other.pid_namespace;
  }
};

/// Without /proc a process sees nobody, and leaves the dead to the launcher.
Place this_place() {
  Place place;
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) != 0) return place;
  place.pid_namespace = status.st_ino;
  place.pid = ::getpid();
  try {
    const InputFile boot_id("/proc/sys/kernel/random/boot_id");
    const std::string_view text = boot_id.text();
    std::copy_n(text.begin(), std::min(text.size(), place.kernel.size()), place.kernel.begin());
  } catch (const DataError&) {
    return place;
  }
  return place;
}

}  // namespace

PeerWatch::PeerWatch(MPI_Comm jobs_communicator) {
  MPI_Comm_dup(jobs_communicator, &communicator_);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  peers_.resize(static_cast<std::size_t>(size_));
  watch_neighbours();
}

PeerWatch::~PeerWatch() {
  for (const Peer& peer : peers_) {
    if (peer.pidfd >= 0) ::close(peer.pidfd);
  }
}

void PeerWatch::watch_neighbours() {
  const Place mine = this_place();
  std::vector<Place> places(peers_.size());
  MPI_Allgather(&mine, sizeof(Place), MPI_BYTE, places.data(), sizeof(Place), MPI_BYTE,
                communicator_);
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || !mine.sees(places[rank])) continue;
    peers_[rank].pidfd = static_cast<int>(::syscall(SYS_pidfd_open, places[rank].pid, 0));
  }
}

const std::optional<std::string>& PeerWatch::look() {
  receive();
  look_for_ended();
  return failure_;
}

void PeerWatch::receive() {
  while (true) {
    int arrived = 0;
    MPI_Status status;
    const int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, communicator_, &arrived, &status);
    if (code != MPI_SUCCESS || arrived == 0) return;
    Notice notice{};
    MPI_Recv(&notice, sizeof(Notice), MPI_BYTE, status.MPI_SOURCE, kTag, communicator_,
             MPI_STATUS_IGNORE);
    if (notice.kind == Kind::kAcknowledgement) {
      peers_[status.MPI_SOURCE].acknowledged = true;
    } else {
      peers_[notice.rank].failed = true;
      note_failure(notice, status.MPI_SOURCE);
    }
  }
}

void PeerWatch::look_for_ended() {
  for (int rank = 0; rank < size_; ++rank) {
    Peer& peer = peers_[rank];
    if (peer.pidfd < 0 || peer.ended) continue;
    pollfd ended{.fd = peer.pidfd, .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, 0) <= 0) continue;
    peer.ended = true;
    note_loss(
        static_cast<std::uint32_t>(rank),
        fmt::format("process {} of {} was lost: it ended without giving a reason", rank, size_));
  }
}

void PeerWatch::note_loss(std::uint32_t rank, std::string_view message) {
  Notice notice{.kind = Kind::kFailure, .rank = rank, .text = {}};
  message.copy(notice.text, std::size(notice.text) - 1);
  note_failure(notice, -1);
}

void PeerWatch::note_failure(const Notice& notice, int announcer) {
  if (failure_) return;
  notice_ = notice;
  announcer_ = announcer;
  failure_ = notice.text;
}

void PeerWatch::announce(std::string_view reason) {
  Notice notice{.kind = Kind::kFailure, .rank = static_cast<std::uint32_t>(rank_), .text = {}};
  fmt::format_to_n(notice.text, std::size(notice.text) - 1, "process {} of {} failed: {}", rank_,
                   size_, reason);
  post_to_all(notice);
  const auto limit = Clock::now() + kAnnounceLimit;
  while (Clock::now() < limit && !(all_is_sent() && all_others_are_done())) {
    std::this_thread::sleep_for(kPause);
    look();
  }
}

void PeerWatch::acknowledge() {
  if (announcer_ < 0) {
    post_to_all(notice_);
  } else {
    post({.kind = Kind::kAcknowledgement, .rank = notice_.rank, .text = {}}, announcer_);
  }
  const auto limit = Clock::now() + kAcknowledgeLimit;
  while (Clock::now() < limit && !all_is_sent()) std::this_thread::sleep_for(kPause);
}

void PeerWatch::post(const Notice& notice, int to) {
  sent_.push_back(notice);
  sending_.push_back(MPI_REQUEST_NULL);
  MPI_Isend(&sent_.back(), sizeof(Notice), MPI_BYTE, to, kTag, communicator_, &sending_.back());
}

void PeerWatch::post_to_all(const Notice& notice) {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !peers_[rank].ended) post(notice, rank);
  }
}

bool PeerWatch::all_is_sent() {
  int sent = 0;
  const int code =
      MPI_Testall(static_cast<int>(sending_.size()), sending_.data(), &sent, MPI_STATUSES_IGNORE);
  return code != MPI_SUCCESS || sent != 0;
}

/// Who has acknowledged from another machine cannot be seen to end.
bool PeerWatch::all_others_are_done() const {
  for (int rank = 0; rank < size_; ++rank) {
    const Peer& peer = peers_[rank];
    const bool done = peer.ended || peer.failed || (peer.acknowledged && peer.pidfd < 0);
    if (rank != rank_ && !done) return false;
  }
  return true;
}

}  // namespace impart::comm
