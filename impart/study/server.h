#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "impart/study/child.h"
#include "impart/study/launcher.h"

namespace impart::study {

struct EndedRun {
  std::size_t run = 0;
  ChildEnd end = {};
};

/// An engine that takes run after run: `PROGRAM serve`. It reads orders from its stdin and says on
/// its stdout how runs ended, a JSON object per line. What it has read and set up stays for the
/// next run, which so starts at once.
class RunServer {
 public:
  struct Spec {
    std::string program;
    std::string log;  ///< of the server itself; a run's own is in its folder
    std::uint32_t card = 0, streams = 1;
    std::vector<std::string> environment = {};
  };
  explicit RunServer(const Spec& spec);

  void start(const RunOrder& order);
  std::uint32_t card() const { return card_; }
  const std::vector<std::size_t>& runs() const { return runs_; }  ///< under way
  bool has_begun(std::size_t run) const { return begun_.contains(run); }
  /// GPUs that it can use; empty until it has said so.
  std::optional<std::uint32_t> cards() const { return cards_; }

  /// The runs that ended since the last call. Does not wait.
  std::vector<EndedRun> take_ended();
  /// How the server itself ended; empty while it runs.
  std::optional<ChildEnd> poll() { return process_.poll(); }
  void signal(int number) { process_.signal(number); }

 private:
  void take_line(const std::string& line, std::vector<EndedRun>& ended);

  ChildProcess process_;
  std::uint32_t card_;
  std::string unread_;  ///< the beginning of a line
  std::vector<std::size_t> runs_;
  std::set<std::size_t> begun_;  ///< of these, and of earlier ones
  std::optional<std::uint32_t> cards_;
};

struct ServerPoolSpec {
  std::string program;
  std::string log;
  bool may_use_gpu = false;  ///< whether a server is asked for its GPUs before there is a second
  std::vector<std::string> environment = {};
};

/// The servers of a study: on a GPU one for each card, which has several runs at a time; on CPUs
/// one for each run at a time.
class ServerPool {
 public:
  explicit ServerPool(ServerPoolSpec spec) : spec_(std::move(spec)) {}

  /// Whether a run could be started now, with so many at a time on all servers together. Starts a
  /// server for it where there is none. IoError if that is impossible.
  bool has_room(std::uint32_t jobs);
  /// After has_room().
  void start(const RunOrder& order);

  std::size_t running() const;
  std::vector<std::size_t> runs() const;
  std::optional<std::uint32_t> cards() const { return cards_; }

  struct Ends {
    std::vector<EndedRun> runs = {};
    std::vector<std::size_t> returned = {};  ///< their server was told to stop before it began them
    std::vector<std::size_t> orphans = {};   ///< their server died
    std::string death = {};                  ///< how; "" if none did
  };
  Ends collect();
  void signal(int number);

 private:
  RunServer* find_room(std::uint32_t streams);
  void add_server(std::uint32_t streams);
  void bury(std::size_t server, const ChildEnd& end, Ends& ends);

  ServerPoolSpec spec_;
  std::vector<RunServer> servers_;
  std::optional<std::uint32_t> cards_;
  RunServer* chosen_ = nullptr;  ///< by has_room
};

}  // namespace impart::study
