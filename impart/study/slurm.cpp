#include "impart/study/slurm.h"

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/study/state.h"

extern char** environ;  // NOLINT: POSIX has it no other way

namespace impart::study {
namespace {

constexpr auto kPause = std::chrono::milliseconds(5);
constexpr auto kSlurmPatience = std::chrono::seconds(60);
constexpr char kSeparator = '|';
constexpr const char* kJobFormat = "%i|%T|%r|%j";  // a name may have any character, so it is last

std::string slurm_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = fmt::format("{}/{}", folder, name);
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  throw ConfigError(fmt::format(
      "--launcher slurm needs Slurm's {}, which is not in PATH: call it on a machine where jobs "
      "are submitted, or run the study here with --launcher local",
      name));
}

/// The text up to the separator, which is taken away from `rest`.
std::string take_field(std::string_view& rest) {
  const std::size_t end = rest.find(kSeparator);
  const std::string field(rest.substr(0, end));
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

/// The value of "Key=value" in a line of such, separated by blanks; "" if there is none.
std::string value_of(std::string_view line, std::string_view key) {
  const std::string start = fmt::format(" {}=", key);
  const std::size_t at = line.find(start);
  if (at == std::string_view::npos) return "";
  const std::size_t from = at + start.size();
  return std::string(line.substr(from, line.find_first_of(" \n", from) - from));
}

int number_at(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A program without what describes the job that this process may be in itself: sbatch would hand
/// it on, and the new job take the number of tasks for its own.
std::vector<std::string> outside_of_jobs(const std::string& program) {
  std::vector<std::string> command = {"/usr/bin/env"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("SLURM_") || name == "SLURM_CONF") continue;
    command.emplace_back("-u");
    command.emplace_back(name);
  }
  command.push_back(program);
  return command;
}

}  // namespace

std::vector<SlurmJob> read_jobs(std::string_view text) {
  std::vector<SlurmJob> jobs;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    SlurmJob job;
    job.id = take_field(line);
    job.state = take_field(line);
    job.reason = take_field(line);
    job.name = line;
    if (!job.name.empty()) jobs.push_back(std::move(job));
  }
  return jobs;
}

SlurmEnd read_end(std::string_view text) {
  const std::string code = value_of(text, "ExitCode");
  const std::size_t colon = code.find(':');
  return {.state = value_of(text, "JobState"),
          .code = number_at(code),
          .signal = colon == std::string::npos ? 0 : number_at(code.substr(colon + 1))};
}

std::string read_job_id(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const bool ends_there = end == std::string_view::npos || text[end] == '\n' || text[end] == ';';
  return ends_there ? std::string(text.substr(0, end)) : "";
}

Question::Question(std::vector<std::string> command, const std::string& log)
    : process_({.command = std::move(command), .log = log, .has_pipes = true}) {
  process_.close_input();
}

std::optional<Question::Answer> Question::poll() {
  const auto end = process_.poll();  // before its last words are read
  text_ += process_.read();
  if (!end) return std::nullopt;
  return Answer{.succeeded = end->code == 0 && end->signal == 0, .text = text_};
}

Question::Answer Question::wait(std::chrono::seconds patience) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < limit) {
    if (auto answer = poll()) return *answer;
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

Slurm::Slurm(std::string log)
    : log_(std::move(log)),
      sbatch_(slurm_program("sbatch")),
      squeue_(slurm_program("squeue")),
      scontrol_(slurm_program("scontrol")) {}

std::string Slurm::submit(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = outside_of_jobs(sbatch_);
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Question::Answer answer = Question(std::move(command), log_).wait(kSlurmPatience);
  return answer.succeeded ? read_job_id(answer.text) : "";
}

Question Slurm::ask_for_jobs() const {
  return Question({squeue_, "--me", "--noheader", std::string("--format=") + kJobFormat}, log_);
}

SlurmEnd Slurm::end_of(const std::string& id) const {
  Question question({scontrol_, "show", "job", "--oneliner", id}, log_);
  const Question::Answer answer = question.wait(kSlurmPatience);
  return answer.succeeded ? read_end(answer.text) : SlurmEnd{};
}

std::string Slurm::last_words() const {
  const std::string words = last_line(log_);
  return words.empty() ? "it did not say why" : words;
}

}  // namespace impart::study
