#include "impart/report/gnuplot.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/report/escape.h"

extern char** environ;

namespace impart::report {
namespace {

namespace fs = std::filesystem;

/// A folder of our own under the system's folder for temporary files.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "impart-figures-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw IoError(fmt::format("{}: cannot create: {}", pattern, std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The script comes as a file on stdin, so a gnuplot that dies early cannot break a pipe of ours.
/// Returns the exit status, or -1 if there is no such program.
int run_gnuplot(const std::string& script, const std::string& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, script.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  std::array<char, 8> program = {"gnuplot"};
  std::array<char, 3> no_startup_files = {"-d"};
  std::array<char, 2> from_stdin = {"-"};
  std::array<char*, 4> arguments = {program.data(), no_startup_files.data(), from_stdin.data(),
                                    nullptr};
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// What gnuplot refused to do, in its own words; warnings do not count.
std::string complaint_in(const std::string& path) {
  if (!fs::exists(path)) return "";
  const InputFile file(path);
  const std::string_view text = file.text();
  constexpr std::string_view kMark = "         line ";
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) {
    const std::string_view line = text.substr(at + 9, text.find('\n', at) - at - 9);
    if (line.find("warning") == line.npos) return std::string(line);
  }
  return "";
}

constexpr int kNarrowWidth = 400;  ///< pixels: of a picture for a telephone

std::string script_of(const Figure& figure, bool narrow, const std::string& path) {
  return fmt::format(
      "narrow = {}\nset terminal svg size {},{} noenhanced font 'sans-serif,{}' linewidth 1.2\n"
      "set output {}\n{}\nunset multiplot\nunset output\n",
      int{narrow}, narrow ? kNarrowWidth : figure.width, figure.height, narrow ? 12 : 14,
      for_gnuplot(path, 4096), figure.script);
}

/// What was drawn, themed; "" if it is not whole.
std::string read_drawn(const std::string& path, const std::string& caption) {
  const std::string drawn = fs::exists(path) ? std::string(InputFile(path).text()) : "";
  if (drawn.find("</svg>") == std::string::npos) return "";
  return theme_svg(drawn, caption);
}

}  // namespace

std::string draw_figures(std::span<Figure*> figures) {
  if (figures.empty()) return "";
  const ScratchFolder scratch;
  const auto path_of = [&](std::size_t i, bool narrow) {
    return scratch / fmt::format("{}{}.svg", i, narrow ? "-narrow" : "");
  };
  std::string script;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    for (const bool narrow : {false, true}) {
      script += script_of(*figures[i], narrow, path_of(i, narrow));
    }
  }
  write_file(scratch / "script", script);
  const int status = run_gnuplot(scratch / "script", scratch / "errors");
  if (status == -1 || status == 127) {
    return "There are no figures: gnuplot is not installed (Debian: apt-get install gnuplot-nox).";
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i]->svg = read_drawn(path_of(i, false), figures[i]->caption);
    figures[i]->narrow = read_drawn(path_of(i, true), figures[i]->caption);
  }
  const std::string complaint = complaint_in(scratch / "errors");
  if (!complaint.empty()) return "Some figures are not complete; gnuplot said: " + complaint;
  const bool all = std::all_of(figures.begin(), figures.end(),
                               [](const Figure* figure) { return !figure->svg.empty(); });
  return all ? "" : "Some figures are missing: gnuplot did not draw them.";
}

}  // namespace impart::report
