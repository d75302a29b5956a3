#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace impart::cli {

/// How much a long command says besides its answer.
enum class Verbosity {
  kQuiet,    ///< warnings and errors
  kNormal,   ///< progress, too
  kVerbose,  ///< and details
};

/// What stderr can show.
struct Terminal {
  bool paints = false;       ///< text can be painted over: a terminal, and TERM is not "dumb"
  bool has_colours = false;  ///< it paints, and NO_COLOR is not set
  bool has_utf8 = false;     ///< the locale says so
};
Terminal look_at_terminal();

/// Text in a colour, where there are colours. `code` is that of ECMA-48: "36" is cyan.
std::string coloured(const Terminal& terminal, std::string_view code, std::string_view text);

/// Columns of text that is harmless but for our own colours.
std::size_t visible_columns(std::string_view text);

/// Lines at the bottom of the terminal that are painted over in place, on stderr. Whoever writes
/// anything else clears them first. After the terminal became narrower, what its lines were broken
/// into is painted over, too, unless it has left the window at its top; while its size changes
/// nothing is painted.
class Painting {
 public:
  Painting() = default;
  ~Painting() { clear(); }
  Painting(const Painting&) = delete;
  Painting& operator=(const Painting&) = delete;

  /// One write, which overwrites line by line, so that nothing flickers. The lines fit the
  /// terminal.
  void paint(const std::vector<std::string>& lines);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_being_resized();
  std::string back_to_start() const;

  std::vector<std::string> painted_;
  std::size_t columns_ = 0;  ///< as last seen
  Clock::time_point resized_at_ = {};
};

}  // namespace impart::cli
