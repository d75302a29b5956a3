// What the commands print. An answer must reach its reader, or the command fails; a remark need
// not.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace impart::cli {

/// Once, before anything is printed: a reader that goes away, or a file that may not grow, is an
/// error of the write, not a signal that ends the process; and files that are opened later never
/// stand where stdout or stderr should.
void prepare_output();

void answer_text(std::string_view text);
void say_text(std::string_view text);

/// Prints a part of the answer on stdout. Whether it was written is known after finish_output().
template <class... Values>
void answer(fmt::format_string<Values...> format, Values&&... values) {
  answer_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Says something on stderr at once. That it cannot be written is no reason to stop.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Hands over what was printed of the answer so far.
void flush_answer();

/// For commands whose answer is in files: what was printed so far may be lost.
void allow_lost_output();

/// IoError if a part of the answer could not be written. If that is because its reader is gone, as
/// in `impart list | head -1`, ends the process as SIGPIPE does, without a word.
void finish_output();

}  // namespace impart::cli
