#include "impart/study/runner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/run/run_files.h"
#include "impart/study/known_runs.h"
#include "impart/study/lock.h"

namespace impart::study {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kPatience = 60;  ///< seconds for the children of a killed study to end
constexpr auto kLook = 10ms;
constexpr auto kTell = 200ms;
constexpr std::size_t kAlike = 5;  ///< failures for one reason that make the rest doubtful

class StudyRunner {
 public:
  StudyRunner(const StudyPlan& plan, const RunnerSpec& spec, const StudyObserver& observer)
      : plan_(plan), spec_(spec), observer_(observer), known_(plan, spec, observer) {}

  StudyOutcome run();

 private:
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

  RunOrder order_for(std::size_t run) const {
    return {.run = run,
            .folder = known_.folder_of(run),
            .threads = config_of(plan_, known_.record().runs[run]).threads};
  }
  StudyProgress progress() const {
    return {.record = known_.record(),
            .reports = known_.reports(),
            .jobs = launcher_ ? launcher_->jobs() : spec_.jobs,
            .is_stopping = stop_level_ > 0};
  }
  bool is_under_way() const { return !launcher_->runs().empty(); }
  void note(const std::string& text) const {
    if (observer_.note) observer_.note(text);
  }

  const StudyPlan& plan_;
  const RunnerSpec& spec_;
  const StudyObserver& observer_;
  KnownRuns known_;
  std::deque<std::size_t> queue_;
  std::vector<std::unique_ptr<StudyLock>> task_locks_;  ///< outlive the launcher's processes
  std::unique_ptr<RunLauncher> launcher_;
  int stop_level_ = 0;
  std::string disk_problem_;           ///< why no further run is started
  std::vector<std::string> failures_;  ///< reasons of this process's failed runs
  bool gave_up_ = false;
  Clock::time_point told_ = {};
};

/// What is to be started, but for what an earlier start has under way still.
void StudyRunner::fill_queue() {
  std::size_t adopted = 0;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const Standing state = known_.report(i).state;
    if (state == Standing::kDone || known_.was_tried(i) || !known_.is_mine(i)) continue;
    if (launcher_->adopt(order_for(i))) {
      write_config(i);
      known_.note_try(i);
      ++adopted;
    } else if (state != Standing::kFailed || spec_.retry) {
      queue_.push_back(i);
    }
  }
  if (adopted > 0) note(fmt::format("{} runs are under way since an earlier start", adopted));
}

void StudyRunner::write_config(std::size_t run) const {
  make_folder(known_.folder_of(run));
  const std::string path = known_.folder_of(run) + "/config.yaml";
  if (fs::exists(path)) return;
  write_file(path, config::to_yaml(config_of(plan_, known_.record().runs[run])));
}

bool StudyRunner::start(std::size_t run) {
  const RunOrder order = order_for(run);
  write_config(run);
  run::clear_status(order.folder);
  if (!launcher_->start(order)) return false;
  known_.note_try(run);
  known_.report(run).state = Standing::kRunning;
  known_.report(run).reason.clear();
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
  known_.report(run).state = Standing::kFailed;
  known_.report(run).reason = reason;
  try {
    run::mark_status(known_.folder_of(run), run::RunStatus::kFailed, reason);
  } catch (const IoError& error) {
    disk_problem_ = error.what();  // it will be started again, which is right if the disk was full
  }
}

/// Whether all runs seem to lack the same, such as the data, which need not be found out by each.
bool StudyRunner::is_doubtful() const {
  const auto is_done = [](const RunReport& report) { return report.state == Standing::kDone; };
  const auto is_alike = [&](const std::string& reason) { return reason == failures_.front(); };
  return failures_.size() >= kAlike && std::all_of(failures_.begin(), failures_.end(), is_alike) &&
         std::none_of(known_.reports().begin(), known_.reports().end(), is_done);
}

void StudyRunner::give_up() {
  gave_up_ = true;
  stop_runs();
}

void StudyRunner::settle(const RunEnd& end) {
  const std::size_t run = end.run;
  known_.look_at(run);
  RunReport& report = known_.report(run);
  const bool has_ended = report.state == Standing::kDone || report.state == Standing::kFailed;
  if (!report.misfit.empty()) {
    mark_failed(run, report.misfit);
  } else if (!has_ended && end.kind != RunEnd::Kind::kStopped) {
    mark_failed(run, end.how);
  }
  if (end.kind == RunEnd::Kind::kCannotWrite && disk_problem_.empty()) {
    disk_problem_ = fmt::format("{}: {}", known_.folder_of(run), report.reason);
  }
  if (report.state == Standing::kFailed) failures_.push_back(report.reason);
  known_.keep_results();
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
  known_.look_at(run);
  queue_.push_front(run);
}

void StudyRunner::note_runs() {
  for (const LaunchedRun& launched : launcher_->runs()) {
    known_.report(launched.run).state =
        launched.has_begun ? Standing::kRunning : Standing::kWaiting;
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
    known_.report(launched.run).epochs_done = epochs_done(known_.folder_of(launched.run));
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
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!known_.is_mine(i)) continue;
    make_folder(known_.folder_of(i));
    task_locks_.push_back(std::make_unique<StudyLock>(
        StudyLockSpec{.path = known_.folder_of(i) + "/task.lock",
                      .what = fmt::format("{}: the run", known_.folder_of(i)),
                      .patience = kPatience,
                      .waiting = [this] { note("waiting for a run whose task was killed"); }}));
    known_.look_at(i);  // it may have ended meanwhile
  }
}

StudyOutcome StudyRunner::outcome() const {
  StudyOutcome outcome{.record = known_.record(),
                       .reports = {known_.reports().begin(), known_.reports().end()}};
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!known_.is_mine(i)) continue;
    const Standing state = known_.reports()[i].state;
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
  known_.open();
  known_.learn();
  lock_runs_of_task();
  write_file(plan_.directory + "/study.yaml", spec_.study_text);
  launcher_ = make_launcher();
  try {
    fill_queue();
    while ((!queue_.empty() || is_under_way()) && stop_level_ == 0) {
      run_queue();
      if (stop_level_ > 0) break;
      known_.learn();
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
