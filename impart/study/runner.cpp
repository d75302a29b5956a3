#include "impart/study/runner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/run/run_files.h"
#include "impart/study/lock.h"
#include "impart/study/results_file.h"

namespace impart::study {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kPatience = 60;  ///< seconds for the children of a killed study to end
constexpr auto kLook = 10ms;
constexpr auto kTell = 200ms;
constexpr std::size_t kMostMisfits = 5;
constexpr std::size_t kAlike = 5;  ///< failures for one reason that make the rest doubtful

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

/// Where runs that no longer fit go: old/1, old/2, …, the first that is not there yet.
std::string next_old_folder(const std::string& directory) {
  for (int number = 1;; ++number) {
    std::string path = fmt::format("{}/old/{}", directory, number);
    if (!fs::exists(path)) return path;
  }
}

class StudyRunner {
 public:
  StudyRunner(const StudyPlan& plan, const RunnerSpec& spec, const StudyObserver& observer)
      : plan_(plan), spec_(spec), observer_(observer) {}

  StudyOutcome run();

 private:
  void keep_to_planned_looks() const;
  void open_results();
  void keep_results();
  void learn_runs();
  void move_misfits_aside();
  void fill_queue();
  void run_queue();
  std::unique_ptr<RunLauncher> make_launcher() const;
  void start_next();
  void write_config(std::size_t run) const;
  bool start(std::size_t run);
  void collect();
  void note_runs();
  void return_to_queue(std::size_t run);
  void settle(const RunEnd& end);
  void mark_failed(std::size_t run, const std::string& reason);
  bool is_doubtful() const;
  void give_up();
  void obey_stop_requests();
  void stop_runs();
  void tell();
  void lock_runs_of_task();
  StudyOutcome outcome() const;

  std::string folder_of(std::size_t run) const {
    return fmt::format("{}/{}", plan_.directory, record_.runs[run].folder);
  }
  RunReport inspect(const StudyRun& run) const {
    return inspect_run(results_ ? &*results_ : nullptr, plan_.directory, run, plan_.record.metric);
  }
  RunOrder order_for(std::size_t run) const {
    return {.run = run,
            .folder = folder_of(run),
            .threads = config_of(plan_, record_.runs[run]).threads};
  }
  StudyProgress progress() const {
    return {.record = record_,
            .reports = reports_,
            .jobs = launcher_ ? launcher_->jobs() : spec_.jobs,
            .is_stopping = stop_level_ > 0};
  }
  bool is_mine(std::size_t run) const { return !spec_.task || spec_.task->has(run); }
  bool is_under_way() const { return !launcher_->runs().empty(); }
  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

  const StudyPlan& plan_;
  const RunnerSpec& spec_;
  const StudyObserver& observer_;
  std::optional<ResultsFile> results_;
  StudyRecord record_;
  std::vector<RunReport> reports_;  ///< of record_.runs
  std::vector<bool> tried_;         ///< of record_.runs: started by this process
  std::deque<std::size_t> queue_;
  std::vector<std::unique_ptr<StudyLock>> task_locks_;  ///< outlive the launcher's processes
  std::unique_ptr<RunLauncher> launcher_;
  int stop_level_ = 0;
  std::string disk_problem_;           ///< why no further run is started
  std::vector<std::string> failures_;  ///< reasons of this process's failed runs
  bool gave_up_ = false;
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
    if (is_mine(i) && !reports_[i].misfit.empty()) misfits.push_back(i);
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

/// What is to be started, but for what an earlier start has under way still.
void StudyRunner::fill_queue() {
  std::size_t adopted = 0;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    const Standing state = reports_[i].state;
    if (state == Standing::kDone || tried_[i] || !is_mine(i)) continue;
    if (launcher_->adopt(order_for(i))) {
      write_config(i);
      tried_[i] = true;
      ++adopted;
    } else if (state != Standing::kFailed || spec_.retry) {
      queue_.push_back(i);
    }
  }
  if (adopted > 0) note(fmt::format("{} runs are under way since an earlier start", adopted));
}

void StudyRunner::write_config(std::size_t run) const {
  make_folder(folder_of(run));
  const std::string path = folder_of(run) + "/config.yaml";
  if (!fs::exists(path)) write_text(path, config::to_yaml(config_of(plan_, record_.runs[run])));
}

bool StudyRunner::start(std::size_t run) {
  const RunOrder order = order_for(run);
  write_config(run);
  run::clear_status(order.folder);
  if (!launcher_->start(order)) return false;
  tried_[run] = true;
  reports_[run].state = Standing::kRunning;
  reports_[run].reason.clear();
  return true;
}

std::unique_ptr<RunLauncher> StudyRunner::make_launcher() const {
  const auto on_cpu = [](const PlannedArm& arm) {
    return arm.config.device == config::RunConfig::Device::kCpu;
  };
  return spec_.launcher({.program = spec_.program,
                         .directory = plan_.directory,
                         .jobs = spec_.jobs,
                         .find_jobs = spec_.find_jobs,
                         .serve = spec_.serve,
                         .may_use_gpu = !std::all_of(plan_.arms.begin(), plan_.arms.end(), on_cpu),
                         .sbatch = spec_.sbatch,
                         .job_script = spec_.job_script,
                         .note = [this](const std::string& text) { note(text); }});
}

void StudyRunner::start_next() {
  while (!queue_.empty() && launcher_->has_room()) {
    if (!start(queue_.front())) return;
    queue_.pop_front();
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

/// Whether all runs seem to lack the same, such as the data, which need not be found out by each.
bool StudyRunner::is_doubtful() const {
  const auto is_done = [](const RunReport& report) { return report.state == Standing::kDone; };
  const auto is_alike = [&](const std::string& reason) { return reason == failures_.front(); };
  return failures_.size() >= kAlike && std::all_of(failures_.begin(), failures_.end(), is_alike) &&
         std::none_of(reports_.begin(), reports_.end(), is_done);
}

void StudyRunner::give_up() {
  gave_up_ = true;
  stop_runs();
}

void StudyRunner::settle(const RunEnd& end) {
  const std::size_t run = end.run;
  reports_[run] = inspect(record_.runs[run]);
  RunReport& report = reports_[run];
  const bool has_ended = report.state == Standing::kDone || report.state == Standing::kFailed;
  if (!report.misfit.empty()) {
    mark_failed(run, report.misfit);
  } else if (!has_ended && end.kind != RunEnd::Kind::kStopped) {
    mark_failed(run, end.how);
  }
  if (end.kind == RunEnd::Kind::kCannotWrite && disk_problem_.empty()) {
    disk_problem_ = fmt::format("{}: {}", folder_of(run), report.reason);
  }
  if (report.state == Standing::kFailed) failures_.push_back(report.reason);
  keep_results();
  if (observer_.ended) observer_.ended(progress(), run);
}

void StudyRunner::collect() {
  const RunLauncher::Ends ends = launcher_->collect();
  for (const RunEnd& end : ends.runs) settle(end);
  for (const std::size_t run : ends.returned) return_to_queue(run);
  note_runs();
}

/// A run that was not begun.
void StudyRunner::return_to_queue(std::size_t run) {
  if (stop_level_ > 0) return settle({.run = run, .kind = RunEnd::Kind::kStopped});
  reports_[run] = inspect(record_.runs[run]);
  queue_.push_front(run);
}

void StudyRunner::note_runs() {
  for (const LaunchedRun& launched : launcher_->runs()) {
    reports_[launched.run].state = launched.has_begun ? Standing::kRunning : Standing::kWaiting;
  }
}

void StudyRunner::obey_stop_requests() {
  const int level = spec_.stop_requests ? spec_.stop_requests() : 0;
  if (level <= stop_level_) return;
  if (stop_level_ == 0) queue_.clear();
  stop_level_ = level;
  launcher_->stop(level);
}

/// Lets the runs under way checkpoint, because the study cannot go on.
void StudyRunner::stop_runs() {
  queue_.clear();
  stop_level_ = std::max(stop_level_, 1);
  launcher_->stop(stop_level_);
  while (is_under_way()) {
    obey_stop_requests();
    collect();
    std::this_thread::sleep_for(kLook);
  }
}

void StudyRunner::tell() {
  if (!observer_.progress || Clock::now() - told_ < kTell) return;
  told_ = Clock::now();
  for (const LaunchedRun& launched : launcher_->runs()) {
    reports_[launched.run].epochs_done = epochs_done(folder_of(launched.run));
  }
  observer_.progress(progress());
}

void StudyRunner::run_queue() {
  while (!queue_.empty() || is_under_way()) {
    obey_stop_requests();
    const bool doubtful = is_doubtful();
    if (doubtful && !is_under_way()) return give_up();
    if (disk_problem_.empty() && !doubtful) start_next();
    collect();
    if (!disk_problem_.empty()) {
      stop_runs();
      throw IoError(fmt::format("{}; the study stopped here, the same command with --retry goes on",
                                disk_problem_));
    }
    tell();
    if (!queue_.empty() || is_under_way()) std::this_thread::sleep_for(kLook);
  }
}

/// Only one task at a time has a run, and its children have it while they end.
void StudyRunner::lock_runs_of_task() {
  if (!spec_.task) return;
  for (std::size_t i = 0; i < record_.runs.size(); ++i) {
    if (!is_mine(i)) continue;
    make_folder(folder_of(i));
    task_locks_.push_back(std::make_unique<StudyLock>(
        StudyLockSpec{.path = folder_of(i) + "/task.lock",
                      .what = fmt::format("{}: the run", folder_of(i)),
                      .patience = kPatience,
                      .waiting = [this] { note("waiting for a run whose task was killed"); }}));
    reports_[i] = inspect(record_.runs[i]);  // it may have ended meanwhile
  }
}

StudyOutcome StudyRunner::outcome() const {
  StudyOutcome outcome{.record = record_, .reports = reports_};
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    if (!is_mine(i)) continue;
    const Standing state = reports_[i].state;
    ++(state == Standing::kDone     ? outcome.done
       : state == Standing::kFailed ? outcome.failed
                                    : outcome.open);
  }
  if (gave_up_) outcome.hopeless = failures_.front();
  return outcome;
}

StudyOutcome StudyRunner::run() {
  make_folder(plan_.directory);
  const StudyLock lock(
      {.path = StudyLock::path_of(plan_.directory),
       .what = fmt::format("{}: the study", plan_.directory),
       .shared = spec_.task.has_value(),
       .patience = kPatience,
       .waiting = [this] { note("waiting for the runs of a study that was killed"); }});
  keep_to_planned_looks();
  open_results();
  learn_runs();
  lock_runs_of_task();
  write_text(plan_.directory + "/study.yaml", spec_.study_text);
  launcher_ = make_launcher();
  try {
    fill_queue();
    while ((!queue_.empty() || is_under_way()) && stop_level_ == 0) {
      run_queue();
      if (stop_level_ > 0) break;
      learn_runs();
      fill_queue();
    }
  } catch (const Error&) {
    stop_runs();
    throw;
  }
  launcher_.reset();
  return outcome();
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
