// Runs as jobs of Slurm. A job carries its run directory in its name, so that a study that was
// killed finds its jobs again, even one that it was just about to submit. The marks in the run
// directory say what became of a run; Slurm is only asked which jobs there still are.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/run/run_files.h"
#include "impart/study/launcher.h"
#include "impart/study/slurm.h"
#include "impart/study/slurm_script.h"
#include "impart/study/state.h"

namespace impart::study {
namespace {

using SlurmClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr Milliseconds kShortestPause = 500ms, kLongestPause = 10s;  ///< between questions
constexpr auto kFileLook = 200ms;                                    ///< between looks for DONE
/// What another machine wrote may be seen later than the end of its job.
constexpr auto kFileDelay = 5s;
constexpr auto kRetrySubmit = 30s, kRetryAlone = 2s;  ///< the latter while no job is there
constexpr int kMostRefusals = 60;                     ///< while no job is there
constexpr auto kFirstAnswer = 60s;

/// sbatch replaces %j and the like in names of files.
std::string literal_path(const std::string& path) {
  std::string literal;
  for (const char c : path) literal += c == '%' ? std::string("%%") : std::string(1, c);
  return literal;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::weakly_canonical(path, error);
  if (error) throw IoError(fmt::format("{}: cannot find: {}", path, error.message()));
  return absolute.string();
}

/// "stripes/6-1f3a5b7c": the end of the run directory, and a hash of its whole path.
std::string job_name(const std::string& folder) {
  const std::filesystem::path path = absolute_path(folder);
  const std::string& text = path.native();
  return fmt::format("{}/{}-{:08x}", path.parent_path().filename().string(),
                     path.filename().string(), XXH3_64bits(text.data(), text.size()) & 0xffffffffu);
}

/// Empty while a mark is being replaced, too.
std::optional<run::RunStatus> status_of(const RunOrder& order) {
  try {
    return run::read_status(order.folder);
  } catch (const DataError&) {
    return std::nullopt;
  }
}

/// Nothing but a person will let such a job begin.
bool waits_for_somebody(const SlurmJob& job) {
  return job.state == "PENDING" &&
         (job.reason.find("eld") != std::string::npos || job.reason.starts_with("Partition") ||
          job.reason.starts_with("BadConstraints"));
}

class SlurmLauncher : public RunLauncher {
 public:
  explicit SlurmLauncher(const LauncherSpec& spec);
  ~SlurmLauncher() override;

  bool adopt(const RunOrder& order) override;
  bool has_room() override {
    return jobs_.size() < spec_.jobs && SlurmClock::now() >= next_submit_;
  }
  bool start(const RunOrder& order) override;
  Ends collect() override;
  std::vector<LaunchedRun> runs() const override;
  void stop(int requests) override;
  std::uint32_t jobs() const override { return spec_.jobs; }

 private:
  struct Job {
    RunOrder order;
    std::string id;
    SlurmClock::time_point since;  ///< it is known
    bool has_begun = false;
    bool is_noted = false;  ///< that it waits for somebody
    std::optional<SlurmClock::time_point> gone = {};
  };

  void wait_after_refusal();
  void look_for_results(Ends& ends);
  void ask(Ends& ends);
  void compare(const std::vector<SlurmJob>& known, Ends& ends);
  void note_state(const SlurmJob& known, Job& job);
  bool is_over(Job& job);
  RunEnd end_of(const Job& job) const;
  void ask_soon() {
    pause_ = kShortestPause;
    next_question_ = SlurmClock::now() + pause_;
  }
  std::string log() const { return spec_.directory + "/slurm.log"; }
  void note(const std::string& text) const {
    if (spec_.note) spec_.note(text);
  }

  const LauncherSpec spec_;
  Slurm slurm_;
  std::string script_;
  std::vector<SlurmJob> found_;  ///< when this launcher was made
  std::vector<Job> jobs_;
  std::optional<Question> question_;
  SlurmClock::time_point asked_ = {}, next_question_ = {}, next_look_ = {}, next_submit_ = {};
  Milliseconds pause_ = kShortestPause;
  bool is_silent_ = false;  ///< Slurm does not answer
  bool has_submitted_ = false;
  int refusals_ = 0;  ///< of sbatch, one after the other
};

SlurmLauncher::SlurmLauncher(const LauncherSpec& spec)
    : spec_(spec), slurm_(log()), script_(spec.job_script) {
  const Question::Answer answer = slurm_.ask_for_jobs().wait(kFirstAnswer);
  if (!answer.succeeded) {
    throw IoError(fmt::format("Slurm does not answer: squeue: {}", slurm_.last_words()));
  }
  found_ = read_jobs(answer.text);
  if (!script_.empty()) return;
  script_ = spec.directory + "/job.sbatch";
  OutputFile file(script_);
  file.write(job_script(std::filesystem::absolute(spec.program)));
  file.commit();
}

SlurmLauncher::~SlurmLauncher() {
  question_.reset();
  std::error_code missing;
  if (std::filesystem::file_size(log(), missing) == 0 && !missing) {
    std::filesystem::remove(log(), missing);
  }
}

bool SlurmLauncher::adopt(const RunOrder& order) {
  const std::string name = job_name(order.folder);
  const auto found = std::find_if(found_.begin(), found_.end(),
                                  [&](const SlurmJob& job) { return job.name == name; });
  if (found == found_.end()) return false;
  jobs_.push_back({.order = order, .id = found->id, .since = SlurmClock::now()});
  note_state(*found, jobs_.back());
  found_.erase(found);
  return true;
}

bool SlurmLauncher::start(const RunOrder& order) {
  const std::string folder = absolute_path(order.folder);
  std::vector<std::string> arguments = spec_.sbatch;
  for (const std::string& argument :
       {std::string("--parsable"), "--job-name=" + job_name(order.folder),
        fmt::format("--output={}/log.txt", literal_path(folder)), std::string("--open-mode=append"),
        script_, folder}) {
    arguments.push_back(argument);
  }
  const std::string id = slurm_.submit(arguments);
  if (id.empty()) {
    wait_after_refusal();
    return false;
  }
  refusals_ = 0;
  has_submitted_ = true;
  jobs_.push_back({.order = order, .id = id, .since = SlurmClock::now()});
  ask_soon();
  return true;
}

/// Jobs whose runs are done count for a limit of jobs until Slurm has let go of them.
void SlurmLauncher::wait_after_refusal() {
  const std::string why = fmt::format("sbatch: {}", slurm_.last_words());
  const bool is_hopeless = !has_submitted_ || refusals_ >= kMostRefusals;
  if (jobs_.empty() && is_hopeless) throw IoError(why);
  if (refusals_++ == 0) {
    note(fmt::format("no further job now, with {} there: {}", jobs_.size(), why));
  }
  next_submit_ = SlurmClock::now() + (jobs_.empty() ? kRetryAlone : kRetrySubmit);
}

RunLauncher::Ends SlurmLauncher::collect() {
  Ends ends;
  look_for_results(ends);
  ask(ends);
  if (!ends.runs.empty()) next_submit_ = {};  // a limit of jobs may be kept again
  return ends;
}

/// A run that is done is done, whatever its job still has to do.
void SlurmLauncher::look_for_results(Ends& ends) {
  if (SlurmClock::now() < next_look_) return;
  next_look_ = SlurmClock::now() + kFileLook;
  const auto is_done = [&](const Job& job) {
    if (status_of(job.order) != run::RunStatus::kDone) return false;
    ends.runs.push_back({.run = job.order.run});
    return true;
  };
  if (std::erase_if(jobs_, is_done) > 0) ask_soon();
}

void SlurmLauncher::ask(Ends& ends) {
  if (!question_) {
    if (jobs_.empty() || SlurmClock::now() < next_question_) return;
    asked_ = SlurmClock::now();
    question_.emplace(slurm_.ask_for_jobs());
  }
  const auto answer = question_->poll();
  if (!answer) return;
  question_.reset();
  pause_ = std::min(kLongestPause, pause_ * 3 / 2);
  next_question_ = SlurmClock::now() + pause_;
  if (!answer->succeeded && !is_silent_) {
    note(fmt::format("Slurm does not answer, asking on: squeue: {}", slurm_.last_words()));
  }
  is_silent_ = !answer->succeeded;
  if (answer->succeeded) compare(read_jobs(answer->text), ends);
}

void SlurmLauncher::compare(const std::vector<SlurmJob>& known, Ends& ends) {
  const auto has_ended = [&](Job& job) {
    if (job.since > asked_) return false;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const SlurmJob& other) { return other.id == job.id; });
    if (found != known.end()) {
      note_state(*found, job);
      return false;
    }
    if (!is_over(job)) return false;
    ends.runs.push_back(end_of(job));
    return true;
  };
  std::erase_if(jobs_, has_ended);
}

void SlurmLauncher::note_state(const SlurmJob& known, Job& job) {
  const bool has_begun = known.state != "PENDING";
  if (has_begun != job.has_begun) ask_soon();
  job.has_begun = has_begun;
  job.gone.reset();
  if (!waits_for_somebody(known) || job.is_noted) return;
  job.is_noted = true;
  note(fmt::format("job {} ({}) waits: {}", job.id, job.order.folder, known.reason));
}

/// Whether all that there is to know of a job that Slurm no longer has is known.
bool SlurmLauncher::is_over(Job& job) {
  if (!job.gone) job.gone = SlurmClock::now();
  const bool over = status_of(job.order) || SlurmClock::now() - *job.gone > kFileDelay;
  ask_soon();
  return over;
}

RunEnd SlurmLauncher::end_of(const Job& job) const {
  const SlurmEnd end = slurm_.end_of(job.id);
  const bool was_stopped =
      status_of(job.order) == run::RunStatus::kPreempted || end.state.starts_with("CANCELLED");
  if (was_stopped) return {.run = job.order.run, .kind = RunEnd::Kind::kStopped};
  std::string how =
      fmt::format("job {} ended without a result, and Slurm no longer knows how", job.id);
  if (!end.state.empty()) {
    how = fmt::format("job {} ended: {}, exit code {}", job.id, end.state, end.code);
    if (end.signal != 0) how += fmt::format(", signal {}", end.signal);
  }
  const std::string line = last_line(job.order.folder + "/log.txt");
  if (!line.empty()) how += ": " + line;
  const bool cannot_write = end.code == kCannotWriteCode;
  return {.run = job.order.run,
          .kind = cannot_write ? RunEnd::Kind::kCannotWrite : RunEnd::Kind::kByItself,
          .how = how};
}

std::vector<LaunchedRun> SlurmLauncher::runs() const {
  std::vector<LaunchedRun> all;
  for (const Job& job : jobs_) all.push_back({.run = job.order.run, .has_begun = job.has_begun});
  return all;
}

/// Jobs do not need the study: they stay.
void SlurmLauncher::stop(int) {
  if (jobs_.empty()) return;
  std::vector<std::string> ids;
  for (const Job& job : jobs_) ids.push_back(job.id);
  note(fmt::format(
      "{} jobs stay queued or running, and the same command follows them again; to stop them, too: "
      "scancel {}",
      ids.size(), fmt::join(ids, " ")));
  jobs_.clear();
  question_.reset();
}

}  // namespace

std::unique_ptr<RunLauncher> launch_by_slurm(const LauncherSpec& spec) {
  return std::make_unique<SlurmLauncher>(spec);
}

}  // namespace impart::study
