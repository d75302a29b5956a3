#include "impart/study/runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/run/run_files.h"
#include "impart/study/child.h"
#include "impart/study/job_tuner.h"
#include "impart/study/lock.h"
#include "impart/study/results_file.h"
#include "impart/study/server.h"

namespace impart::study {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kPreempted = 85;
constexpr int kCannotWrite = 74;
constexpr double kPatience = 60;  ///< seconds for the children of a killed study to end
constexpr auto kLook = 10ms;
constexpr auto kTell = 200ms;
constexpr std::size_t kMostMisfits = 5;
constexpr std::uint32_t kMostJobsOnGpu = 32;

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw IoError(fmt::format("{}: cannot create: {}", path, error.message()));
}

void write_text(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void remove_if_empty(const std::string& path) {
  std::error_code missing;
  if (fs::file_size(path, missing) == 0 && !missing) fs::remove(path, missing);
}

/// Where runs that no longer fit go: old/1, old/2, …, the first that is not there yet.
std::string next_old_folder(const std::string& directory) {
  for (int number = 1;; ++number) {
    std::string path = fmt::format("{}/old/{}", directory, number);
    if (!fs::exists(path)) return path;
  }
}

std::string describe(const ChildEnd& end, const std::string& folder) {
  const std::string line = last_line(folder + "/log.txt");
  const std::string how =
      end.signal != 0 ? fmt::format("killed by signal {} ({})", end.signal, ::strsignal(end.signal))
      : end.code == 0 ? std::string("ended without a result")
                      : fmt::format("exit code {}", end.code);
  return line.empty() || end.signal != 0 ? how : fmt::format("{}: {}", how, line);
}

/// The libraries below the engine have thread pools of their own.
std::vector<std::string> environment_for(std::uint32_t threads) {
  return {fmt::format("OMP_NUM_THREADS={}", threads),
          fmt::format("OPENBLAS_NUM_THREADS={}", threads)};
}

struct RunningChild {
  std::size_t run;  ///< index into record.runs
  ChildProcess process;
};

class StudyRunner {
 public:
  StudyRunner(const StudyPlan& plan, const RunnerSpec& spec, const StudyObserver& observer)
      : plan_(plan),
        spec_(spec),
        observer_(observer),
        threads_(std::max(1u, std::thread::hardware_concurrency() / std::max(1u, spec.jobs))) {
    if (spec.serve) pool_.emplace(pool_spec());
  }

  StudyOutcome run();

 private:
  void keep_to_planned_looks() const;
  void open_results();
  void keep_results();
  void learn_runs();
  void move_misfits_aside();
  void fill_queue();
  void run_queue();
  ServerPoolSpec pool_spec() const;
  void start_next();
  bool has_room();
  void start(std::size_t run);
  void start_process(const RunOrder& order);
  void signal_all(int number);
  void collect();
  void collect_processes();
  void collect_from_servers();
  void return_to_queue(std::size_t run);
  void note_end();
  void settle(std::size_t run, const ChildEnd& end);
  void mark_failed(std::size_t run, const std::string& reason);
  void obey_stop_requests();
  void stop_children();
  void tell();

  std::string folder_of(std::size_t run) const {
    return fmt::format("{}/{}", plan_.directory, record_.runs[run].folder);
  }
  RunReport inspect(const StudyRun& run) const {
    return inspect_run(results_ ? &*results_ : nullptr, plan_.directory, run, plan_.record.metric);
  }
  std::string servers_log() const { return plan_.directory + "/servers.log"; }
  StudyProgress progress() const {
    return {.record = record_, .reports = reports_, .jobs = jobs(), .is_stopping = stop_level_ > 0};
  }
  bool is_finding_jobs() const {
    return spec_.find_jobs && pool_ && pool_->cards().value_or(0) > 0;
  }
  std::uint32_t jobs() const { return is_finding_jobs() ? tuner_.jobs() : spec_.jobs; }
  std::size_t running() const { return children_.size() + (pool_ ? pool_->running() : 0); }
  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

  const StudyPlan& plan_;
  const RunnerSpec& spec_;
  const StudyObserver& observer_;
  const std::uint32_t threads_;
  std::optional<ResultsFile> results_;
  StudyRecord record_;
  std::vector<RunReport> reports_;  ///< of record_.runs
  std::vector<bool> tried_;         ///< of record_.runs: started by this process
  std::deque<std::size_t> queue_;
  std::vector<RunningChild> children_;
  std::optional<ServerPool> pool_;
  bool server_died_ = false;  ///< runs are processes from then on
  JobTuner tuner_{kMostJobsOnGpu};
  int stop_level_ = 0;
  std::string disk_problem_;  ///< why no further run is started
  Clock::time_point told_ = {};
};

/// Looks that are planned anew after the first has been taken are corrected for by nobody.
void StudyRunner::keep_to_planned_looks() const {
  if (!plan_.record.growing || !fs::exists(plan_.directory + "/study.json")) return;
  const std::optional<SeedPlan> before = read_study(plan_.directory).growing;
  if (!before || before->taken.empty() || before->planned == plan_.record.growing->planned) return;
  throw ConfigError(fmt::format(
      "{} was planned to look at its results after {} seeds and has begun to, so at_least and "
      "at_most of seeds stay as they were; another name or output begins a new study",
      plan_.directory, fmt::join(before->planned, ", ")));
}

/// Rows of another configuration are never mixed with those of this one.
void StudyRunner::open_results() {
  if (spec_.results.empty()) return;
  results_.emplace(spec_.results, plan_.record);
  results_->check_plan(plan_);
  std::vector<std::string> stale = results_->stale_rows(plan_);
  if (stale.empty()) return;
  if (!spec_.fresh) {
    const std::size_t count = stale.size();
    stale.resize(std::min(count, kMostMisfits));
    throw ConfigError(fmt::format(
        "{} rows of {} are not of this study as it is now; --fresh leaves them out and runs them "
        "again, another file for --results leaves them as they are:\n  {}",
        count, spec_.results, fmt::join(stale, "\n  ")));
  }
  const std::string aside = next_old_folder(plan_.directory);
  make_folder(aside);
  write_text(aside + "/results.csv", InputFile(spec_.results).text());
  results_->drop_stale_rows(plan_);
  results_->write();
  note(fmt::format("left {} rows of another configuration out of {}; as it was: {}/results.csv",
                   stale.size(), spec_.results, aside));
}

void StudyRunner::keep_results() {
  if (!results_) return;
  bool is_new = false;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    const StudyRun& run = record_.runs[i];
    if (reports_[i].state != Standing::kDone || results_->report_of(run)) continue;
    results_->add(run, folder_of(i));
    is_new = true;
  }
  if (is_new) results_->write();
}

/// Reads what there is, and finds out which runs follow from it. What this process has seen of the
/// runs stays: their number only grows, in the same order.
void StudyRunner::learn_runs() {
  record_ = unfold(plan_, [&](const StudyRun& run) -> Finding {
    const RunReport report = inspect(run);
    const auto known = std::find(record_.runs.begin(), record_.runs.end(), run);
    const auto index = static_cast<std::size_t>(known - record_.runs.begin());
    const bool tried = index < tried_.size() && tried_[index];
    const bool failed = report.state == Standing::kFailed && (tried || !spec_.retry);
    const bool fits = report.misfit.empty();
    return {.is_settled = fits && (failed || report.state == Standing::kDone),
            .value = fits ? report.value : std::nullopt};
  });
  for (std::size_t i = reports_.size(); i < record_.runs.size(); ++i) {
    reports_.push_back(inspect(record_.runs[i]));
  }
  tried_.resize(record_.runs.size(), false);
  move_misfits_aside();
  write_study(plan_.directory, record_);
  keep_results();
}

void StudyRunner::move_misfits_aside() {
  std::vector<std::size_t> misfits;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (!reports_[i].misfit.empty()) misfits.push_back(i);
  }
  if (misfits.empty()) return;
  if (!spec_.fresh) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(misfits.size(), kMostMisfits); ++i) {
      lines.push_back(fmt::format("{} {}", folder_of(misfits[i]), reports_[misfits[i]].misfit));
    }
    throw ConfigError(fmt::format(
        "{} runs in {} are not of this study as it is now; --fresh moves them aside and runs them "
        "again, another name or output leaves them as they are:\n  {}",
        misfits.size(), plan_.directory, fmt::join(lines, "\n  ")));
  }
  const std::string aside = next_old_folder(plan_.directory);
  for (const std::size_t run : misfits) {
    const fs::path target = fs::path(aside) / record_.runs[run].folder;
    make_folder(target.parent_path().string());
    std::error_code error;
    fs::rename(folder_of(run), target, error);
    if (error) throw IoError(fmt::format("{}: cannot move: {}", folder_of(run), error.message()));
    sync_folder(target.parent_path().string());
    sync_folder(fs::path(folder_of(run)).parent_path().string());
    reports_[run] = {};
  }
  note(fmt::format("moved {} runs of another configuration to {}", misfits.size(), aside));
}

void StudyRunner::fill_queue() {
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    const Standing state = reports_[i].state;
    const bool failed = state == Standing::kFailed && !spec_.retry;
    if (state != Standing::kDone && !failed && !tried_[i]) queue_.push_back(i);
  }
}

void StudyRunner::start(std::size_t run) {
  const std::string folder = folder_of(run);
  make_folder(folder);
  if (!fs::exists(folder + "/config.yaml")) {
    write_text(folder + "/config.yaml", config::to_yaml(config_of(plan_, record_.runs[run])));
  }
  run::clear_status(folder);
  const std::uint32_t wanted = config_of(plan_, record_.runs[run]).threads;
  const RunOrder order{.run = run, .folder = folder, .threads = wanted > 0 ? wanted : threads_};
  pool_ && !server_died_ ? pool_->start(order) : start_process(order);
  tried_[run] = true;
  reports_[run].state = Standing::kRunning;
  reports_[run].reason.clear();
}

void StudyRunner::start_process(const RunOrder& order) {
  children_.push_back(
      {order.run, ChildProcess({.command = {spec_.program, "train", "--resume", order.folder,
                                            fmt::format("threads={}", order.threads)},
                                .log = order.folder + "/log.txt",
                                .environment = environment_for(order.threads)})});
}

ServerPoolSpec StudyRunner::pool_spec() const {
  const auto on_cpu = [](const PlannedArm& arm) {
    return arm.config.device == config::RunConfig::Device::kCpu;
  };
  return {.program = spec_.program,
          .log = servers_log(),
          .may_use_gpu = !std::all_of(plan_.arms.begin(), plan_.arms.end(), on_cpu),
          .environment = environment_for(threads_)};
}

bool StudyRunner::has_room() {
  if (running() >= jobs()) return false;
  return !pool_ || server_died_ || pool_->has_room(jobs());
}

void StudyRunner::start_next() {
  while (!queue_.empty() && has_room()) {
    const std::size_t run = queue_.front();
    queue_.pop_front();
    start(run);
  }
}

void StudyRunner::mark_failed(std::size_t run, const std::string& reason) {
  reports_[run].state = Standing::kFailed;
  reports_[run].reason = reason;
  try {
    run::mark_status(folder_of(run), run::RunStatus::kFailed, reason);
  } catch (const IoError& error) {
    disk_problem_ = error.what();  // it will be started again, which is right if the disk was full
  }
}

void StudyRunner::settle(std::size_t run, const ChildEnd& end) {
  reports_[run] = inspect(record_.runs[run]);
  RunReport& report = reports_[run];
  const bool was_asked = stop_level_ > 0 && end.signal != 0;
  const bool stopped = was_asked || (end.signal == 0 && end.code == kPreempted);
  if (!report.misfit.empty()) {
    mark_failed(run, report.misfit);
  } else if (report.state != Standing::kDone && report.state != Standing::kFailed && !stopped) {
    mark_failed(run, describe(end, folder_of(run)));
  }
  if (end.signal == 0 && end.code == kCannotWrite && disk_problem_.empty()) {
    disk_problem_ = fmt::format("{}: {}", folder_of(run), report.reason);
  }
  keep_results();
  if (observer_.ended) observer_.ended(progress(), run);
}

void StudyRunner::collect() {
  collect_processes();
  if (pool_) collect_from_servers();
}

void StudyRunner::collect_from_servers() {
  const ServerPool::Ends ends = pool_->collect();
  for (const EndedRun& ended : ends.runs) {
    settle(ended.run, ended.end);
    if (is_finding_jobs()) note_end();
  }
  for (const std::size_t run : ends.returned) return_to_queue(run);
  if (ends.orphans.empty()) return;
  if (stop_level_ > 0) {  // it was told to
    for (const std::size_t run : ends.orphans) settle(run, {.signal = SIGKILL});
    return;
  }
  if (!server_died_) {
    note(fmt::format(
        "the process that had {} of the runs {}: they, and all that follow, get processes of "
        "their own",
        ends.orphans.size(), ends.death));
  }
  server_died_ = true;
  for (const std::size_t run : ends.orphans) start(run);
}

/// A run that was given to a server and not begun.
void StudyRunner::return_to_queue(std::size_t run) {
  if (stop_level_ > 0) return settle(run, {.code = kPreempted});
  reports_[run] = inspect(record_.runs[run]);
  queue_.push_front(run);
}

void StudyRunner::note_end() {
  const bool had_found = tuner_.has_found();
  tuner_.note_end(std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
  if (!had_found && tuner_.has_found()) {
    note(fmt::format("{} runs at a time are best", tuner_.jobs()));
  }
}

void StudyRunner::collect_processes() {
  for (std::size_t i = 0; i < children_.size();) {
    const auto end = children_[i].process.poll();
    if (!end) {
      ++i;
      continue;
    }
    const std::size_t run = children_[i].run;
    std::vector<RunningChild> others;
    for (RunningChild& child : children_) {
      if (child.run != run) others.push_back(std::move(child));
    }
    children_.swap(others);
    settle(run, *end);
  }
}

void StudyRunner::obey_stop_requests() {
  const int level = spec_.stop_requests ? spec_.stop_requests() : 0;
  if (level <= stop_level_) return;
  if (stop_level_ == 0) queue_.clear();
  stop_level_ = level;
  signal_all(level > 1 ? SIGKILL : SIGTERM);
}

void StudyRunner::signal_all(int number) {
  for (RunningChild& child : children_) child.process.signal(number);
  if (pool_) pool_->signal(number);
}

/// Lets the runs under way checkpoint, because the study cannot go on.
void StudyRunner::stop_children() {
  queue_.clear();
  stop_level_ = std::max(stop_level_, 1);
  signal_all(SIGTERM);
  while (running() > 0) {
    obey_stop_requests();
    collect();
    std::this_thread::sleep_for(kLook);
  }
}

void StudyRunner::tell() {
  if (!observer_.progress || Clock::now() - told_ < kTell) return;
  told_ = Clock::now();
  std::vector<std::size_t> under_way = pool_ ? pool_->runs() : std::vector<std::size_t>();
  for (const RunningChild& child : children_) under_way.push_back(child.run);
  for (const std::size_t run : under_way) {
    reports_[run].epochs_done = epochs_done(folder_of(run));
  }
  observer_.progress(progress());
}

void StudyRunner::run_queue() {
  while (!queue_.empty() || running() > 0) {
    obey_stop_requests();
    if (disk_problem_.empty()) start_next();
    collect();
    if (!disk_problem_.empty()) {
      stop_children();
      throw IoError(fmt::format("{}; the study stopped here, the same command with --retry goes on",
                                disk_problem_));
    }
    tell();
    if (running() > 0) std::this_thread::sleep_for(kLook);
  }
}

StudyOutcome StudyRunner::run() {
  make_folder(plan_.directory);
  const StudyLock lock(plan_.directory, kPatience,
                       [this] { note("waiting for the runs of a study that was killed"); });
  keep_to_planned_looks();
  open_results();
  learn_runs();
  write_text(plan_.directory + "/study.yaml", spec_.study_text);
  try {
    fill_queue();
    while (!queue_.empty() && stop_level_ == 0) {
      run_queue();
      if (stop_level_ > 0) break;
      learn_runs();
      fill_queue();
    }
  } catch (const Error&) {
    stop_children();
    throw;
  }
  pool_.reset();
  remove_if_empty(servers_log());
  StudyOutcome outcome{.record = record_, .reports = reports_};
  for (const RunReport& report : reports_) {
    outcome.done += report.state == Standing::kDone ? 1 : 0;
    outcome.failed += report.state == Standing::kFailed ? 1 : 0;
  }
  outcome.open = reports_.size() - outcome.done - outcome.failed;
  return outcome;
}

}  // namespace

std::uint32_t default_jobs(std::size_t runs) {
  const std::size_t half = std::max(1u, std::thread::hardware_concurrency() / 2);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(runs, 1, half));
}

StudyOutcome run_study(const StudyPlan& plan, const RunnerSpec& spec,
                       const StudyObserver& observer) {
  return StudyRunner(plan, spec, observer).run();
}

}  // namespace impart::study
