// Runs as processes of this machine: each one of its own, or run after run in shared ones.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "impart/run/run_files.h"
#include "impart/study/child.h"
#include "impart/study/job_tuner.h"
#include "impart/study/launcher.h"
#include "impart/study/server.h"
#include "impart/study/state.h"

namespace impart::study {
namespace {

constexpr std::uint32_t kMostJobsOnGpu = 32;

/// The libraries below the engine have thread pools of their own.
std::vector<std::string> environment_for(std::uint32_t threads) {
  return {fmt::format("OMP_NUM_THREADS={}", threads),
          fmt::format("OPENBLAS_NUM_THREADS={}", threads)};
}

std::string describe(const ChildEnd& end, const std::string& folder) {
  if (end.signal != 0) {
    return fmt::format("killed by signal {} ({})", end.signal, ::strsignal(end.signal));
  }
  const std::string how =
      end.code == 0 ? "ended without a result" : fmt::format("exit code {}", end.code);
  const std::string line = last_line(folder + "/log.txt");
  return line.empty() ? how : fmt::format("{}: {}", how, line);
}

struct RunningChild {
  RunOrder order;
  ChildProcess process;
};

/// If a shared process dies, the runs that it had start again as processes, and so do all later
/// ones.
class LocalLauncher : public RunLauncher {
 public:
  explicit LocalLauncher(const LauncherSpec& spec)
      : spec_(spec),
        threads_(std::max(1u, std::thread::hardware_concurrency() / std::max(1u, spec.jobs))) {
    if (!spec.serve) return;
    pool_.emplace(ServerPoolSpec{.program = spec.program,
                                 .log = servers_log(),
                                 .may_use_gpu = spec.may_use_gpu,
                                 .environment = environment_for(threads_)});
  }
  ~LocalLauncher() override;

  bool has_room() override;
  bool start(const RunOrder& order) override;
  Ends collect() override;
  std::vector<LaunchedRun> runs() const override;
  void stop(int requests) override;
  std::uint32_t jobs() const override { return is_finding_jobs() ? tuner_.jobs() : spec_.jobs; }

 private:
  void start_process(const RunOrder& order);
  void collect_processes(Ends& ends);
  void collect_from_servers(Ends& ends);
  void adopt_orphans(const ServerPool::Ends& served, Ends& ends);
  void note_end();
  RunEnd end_of(const RunOrder& order, const ChildEnd& end) const;

  std::string servers_log() const { return spec_.directory + "/servers.log"; }
  bool is_finding_jobs() const {
    return spec_.find_jobs && pool_ && pool_->cards().value_or(0) > 0;
  }
  void note(const std::string& text) const {
    if (spec_.note) spec_.note(text);
  }

  const LauncherSpec spec_;
  const std::uint32_t threads_;
  std::vector<RunningChild> children_;
  std::optional<ServerPool> pool_;
  std::map<std::size_t, RunOrder> served_;  ///< given to the pool
  bool server_died_ = false;                ///< runs are processes from then on
  JobTuner tuner_{kMostJobsOnGpu};
  int stop_requests_ = 0;
};

LocalLauncher::~LocalLauncher() {
  pool_.reset();
  std::error_code missing;
  if (std::filesystem::file_size(servers_log(), missing) == 0 && !missing) {
    std::filesystem::remove(servers_log(), missing);
  }
}

bool LocalLauncher::has_room() {
  if (runs().size() >= jobs()) return false;
  return !pool_ || server_died_ || pool_->has_room(jobs());
}

bool LocalLauncher::start(const RunOrder& given) {
  RunOrder order = given;
  if (order.threads == 0) order.threads = threads_;
  if (!pool_ || server_died_) {
    start_process(order);
  } else {
    pool_->start(order);
    served_[order.run] = order;
  }
  return true;
}

void LocalLauncher::start_process(const RunOrder& order) {
  children_.push_back(
      {order, ChildProcess({.command = {spec_.program, "train", "--resume", order.folder,
                                        fmt::format("threads={}", order.threads)},
                            .log = order.folder + "/log.txt",
                            .environment = environment_for(order.threads)})});
}

RunEnd LocalLauncher::end_of(const RunOrder& order, const ChildEnd& end) const {
  const bool was_asked = stop_requests_ > 0 && end.signal != 0;
  const int code = end.signal == 0 ? end.code : 0;
  if (was_asked || code == kPreemptedCode) {
    return {.run = order.run, .kind = RunEnd::Kind::kStopped};
  }
  return {.run = order.run,
          .kind = code == kCannotWriteCode ? RunEnd::Kind::kCannotWrite : RunEnd::Kind::kByItself,
          .how = describe(end, order.folder)};
}

RunLauncher::Ends LocalLauncher::collect() {
  Ends ends;
  collect_processes(ends);
  if (pool_) collect_from_servers(ends);
  return ends;
}

void LocalLauncher::collect_processes(Ends& ends) {
  std::vector<RunningChild> others;
  for (RunningChild& child : children_) {
    if (const auto end = child.process.poll()) {
      ends.runs.push_back(end_of(child.order, *end));
    } else {
      others.push_back(std::move(child));
    }
  }
  children_.swap(others);
}

void LocalLauncher::collect_from_servers(Ends& ends) {
  const ServerPool::Ends served = pool_->collect();
  for (const EndedRun& ended : served.runs) {
    ends.runs.push_back(end_of(served_[ended.run], ended.end));
    if (is_finding_jobs()) note_end();
  }
  ends.returned = served.returned;
  if (!served.orphans.empty()) adopt_orphans(served, ends);
}

void LocalLauncher::adopt_orphans(const ServerPool::Ends& served, Ends& ends) {
  if (stop_requests_ > 0) {  // their server was told to
    for (const std::size_t run : served.orphans) {
      ends.runs.push_back({.run = run, .kind = RunEnd::Kind::kStopped});
    }
    return;
  }
  if (!server_died_) {
    note(fmt::format(
        "the process that had {} of the runs {}: they, and all that follow, get processes of "
        "their own",
        served.orphans.size(), served.death));
  }
  server_died_ = true;
  for (const std::size_t run : served.orphans) {
    run::clear_status(served_[run].folder);
    start_process(served_[run]);
  }
}

void LocalLauncher::note_end() {
  const bool had_found = tuner_.has_found();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  tuner_.note_end(std::chrono::duration<double>(now).count());
  if (!had_found && tuner_.has_found()) {
    note(fmt::format("{} runs at a time are best", tuner_.jobs()));
  }
}

std::vector<LaunchedRun> LocalLauncher::runs() const {
  std::vector<LaunchedRun> all;
  for (const RunningChild& child : children_) {
    all.push_back({.run = child.order.run, .has_begun = true});
  }
  if (!pool_) return all;
  for (const std::size_t run : pool_->runs()) all.push_back({.run = run, .has_begun = true});
  return all;
}

/// Lets the runs checkpoint; kills them if that was not soon enough.
void LocalLauncher::stop(int requests) {
  stop_requests_ = requests;
  const int number = requests > 1 ? SIGKILL : SIGTERM;
  for (RunningChild& child : children_) child.process.signal(number);
  if (pool_) pool_->signal(number);
}

}  // namespace

std::unique_ptr<RunLauncher> launch_here(const LauncherSpec& spec) {
  return std::make_unique<LocalLauncher>(spec);
}

}  // namespace impart::study
