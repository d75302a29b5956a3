#include "impart/comm/mpi_session.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include "impart/comm/launcher.h"
#include "impart/core/error.h"

namespace impart::comm {
namespace {

constexpr int kKeepUsersChoice = 0;

/// Processes of one machine meet in its memory. Open MPI would have each listen on all interfaces
/// for others that there are none of; a choice of the user stands.
void keep_off_the_network() {
  if (is_on_one_machine([](const char* name) { return std::getenv(name); })) {
    ::setenv("OMPI_MCA_btl", "^tcp,ofi", kKeepUsersChoice);
  }
}

/// Over TCP Open MPI asks before it sends more than 64 KiB, and the answer waits behind what the
/// other process sends itself: two that exchange pieces of 1 MiB took turns, and both directions of
/// a cable together carried what one can. What goes without asking does not: twice as fast.
void send_pieces_at_once() {
  ::setenv("OMPI_MCA_btl_tcp_eager_limit", "1114112", kKeepUsersChoice);  // 1 MiB + 64 KiB
  ::setenv("OMPI_MCA_btl_tcp_rndv_eager_limit", "1114112", kKeepUsersChoice);
  ::setenv("OMPI_MCA_btl_tcp_max_send_size", "1179648", kKeepUsersChoice);
}

/// Of a buffer of 128 KiB the kernel makes 256. Left alone it grows to 4 MiB, and at 1 Gb/s the
/// smallest sum waits 30 ms behind what lies there.
void keep_queues_short() {
  ::setenv("OMPI_MCA_btl_tcp_sndbuf", "131072", kKeepUsersChoice);
}

/// Whether Open MPI gave its core away before. Nothing in other MPIs.
bool set_yielding(bool yields) {
  using Set = bool(bool);
  auto* const set =
      reinterpret_cast<Set*>(::dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle"));
  return set != nullptr && set(yields);
}

}  // namespace

std::string describe_mpi_error(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fmt::format("{} failed: {}", call, text);
}

MpiSession::MpiSession(bool short_queues) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0) throw ConfigError("MPI has ended already; a process joins one job only");
  if (initialized != 0) return;
  keep_off_the_network();
  send_pieces_at_once();
  if (short_queues) keep_queues_short();
  int provided = 0;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code != MPI_SUCCESS) throw PeerError(describe_mpi_error(code, "MPI_Init_thread"));
  ours_ = true;
}

void MpiSession::keep_core_in_calls() {
  yielded_ = set_yielding(false);
}

void MpiSession::end() {
  set_yielding(yielded_);
  if (ours_) MPI_Finalize();
}

}  // namespace impart::comm
