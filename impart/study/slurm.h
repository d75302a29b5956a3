#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impart/study/child.h"

namespace impart::study {

// Slurm's commands, as far as a study needs them. What they say on stderr goes to a log.

/// A job that is queued or runs.
struct SlurmJob {
  std::string id, name;
  std::string state;   ///< PENDING, RUNNING, …
  std::string reason;  ///< why it is pending
  bool operator==(const SlurmJob&) const = default;
};

/// How a job ended.
struct SlurmEnd {
  std::string state;  ///< COMPLETED, FAILED, TIMEOUT, …; "" if Slurm no longer knows the job
  int code = 0;
  int signal = 0;
  bool operator==(const SlurmEnd&) const = default;
};

/// The lines of squeue, as Slurm::ask_for_jobs has it called. Other lines are left out.
std::vector<SlurmJob> read_jobs(std::string_view text);
/// The line of scontrol show job --oneliner.
SlurmEnd read_end(std::string_view text);
/// The id that sbatch --parsable printed; "" if it is none.
std::string read_job_id(std::string_view text);

/// A program that is asked for its output.
class Question {
 public:
  /// IoError if it cannot be started.
  Question(std::vector<std::string> command, const std::string& log);

  struct Answer {
    bool succeeded = false;
    std::string text = {};
  };
  /// Empty until it has ended.
  std::optional<Answer> poll();
  /// Waits for its end; after `patience` it has not succeeded.
  Answer wait(std::chrono::seconds patience);

 private:
  ChildProcess process_;
  std::string text_;
};

class Slurm {
 public:
  /// ConfigError if sbatch, squeue or scontrol is not in PATH.
  explicit Slurm(std::string log);

  /// Submits a job; its id, or "" if that was refused: see last_words().
  std::string submit(const std::vector<std::string>& arguments) const;
  /// Asks which jobs the user has.
  Question ask_for_jobs() const;
  SlurmEnd end_of(const std::string& id) const;
  /// The last that a command said on stderr.
  std::string last_words() const;

 private:
  std::string log_;
  std::string sbatch_, squeue_, scontrol_;  ///< paths
};

}  // namespace impart::study
