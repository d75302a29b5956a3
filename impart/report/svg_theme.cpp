// What gnuplot's SVG terminal writes, made fit for a page: no ids that could clash, the colour of
// the surrounding text instead of black, and thousands of points as one path.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/report/escape.h"
#include "impart/report/gnuplot.h"

namespace impart::report {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// "rgb( 59, 125, 216)" becomes "#3b7dd8".
void shorten_colours(std::string& text) {
  for (std::size_t at = text.find("rgb("); at != std::string::npos; at = text.find("rgb(", at)) {
    const std::size_t end = text.find(')', at);
    std::array<int, 3> parts{};
    if (end == std::string::npos ||
        std::sscanf(text.c_str() + at, "rgb(%d,%d,%d", &parts[0], &parts[1], &parts[2]) != 3) {
      at += 4;
      continue;
    }
    text.replace(at, end + 1 - at,
                 fmt::format("#{:02x}{:02x}{:02x}", parts[0], parts[1], parts[2]));
  }
}

std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return "";
  const std::size_t from = start + before.size();
  return text.substr(from, text.find(after, from) - from);
}

/// One decimal is finer than a screen's pixel.
std::string coordinate(std::string_view text) {
  return fmt::format("{:.1f}", std::strtod(std::string(text).c_str(), nullptr));
}

/// Filled dots of one size and colour, as one path of round ends.
class DotPath {
 public:
  /// False if the line is not such a dot.
  bool take(std::string_view line, std::string& out) {
    if (line.find("'#gpPt6'") == std::string_view::npos) {
      flush(out);
      return false;
    }
    const std::pair look = {std::string(between(line, "scale(", ")")),
                            std::string(between(line, "color='", "'"))};
    if (look != look_) flush(out);
    look_ = look;
    const std::string_view place = between(line, "translate(", ")");
    const std::size_t comma = place.find(',');
    path_ += fmt::format("M{} {}h0", coordinate(place.substr(0, comma)),
                         coordinate(place.substr(comma + 1)));
    return true;
  }

  void flush(std::string& out) {
    if (path_.empty()) return;
    out += fmt::format(
        "<path d='{}' stroke='{}' stroke-width='{:.2f}' stroke-linecap='round' "
        "stroke-opacity='0.75'/>\n",
        path_, look_.second, 2 * std::strtod(look_.first.c_str(), nullptr));
    path_.clear();
  }

 private:
  std::pair<std::string, std::string> look_;
  std::string path_;
};

bool is_left_out(std::string_view line) {
  return line.empty() || line.starts_with("<?xml") || line.starts_with("<title>") ||
         line.starts_with("<desc>");
}

/// Groups that hold nothing: gnuplot opens one for every change of its pen.
void drop_empty_groups(std::string& text) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const bool empty_group = line.starts_with("<g ") && line.ends_with(">\n") &&
                             std::string_view(text).substr(end, 5) == "</g>\n";
    if (!empty_group) result += line;
    at = empty_group ? end + 5 : end;
  }
  text = std::move(result);
}

}  // namespace

std::string theme_svg(const std::string& drawn, const std::string& description) {
  const std::string_view box = between(drawn, "viewBox=\"", "\"");
  if (box.empty()) return "";
  // The body begins after the definitions of gnuplot's symbols, which nothing refers to any more.
  const std::size_t body = drawn.find("</defs>");
  std::string_view rest = drawn;
  rest.remove_prefix(body == std::string::npos ? 0 : body + 7);
  std::string lines;
  DotPath dots;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
    if (is_left_out(line) || dots.take(line, lines)) continue;
    std::string kept(line);
    if (const std::size_t title = kept.find("<title>"); title != std::string::npos) {
      kept.erase(title);  // of a plot: only its number
    }
    if (kept.starts_with("<g id=")) kept = "<g>";
    lines += kept + "\n";
  }
  dots.flush(lines);
  replace_all(lines, " color=\"black\"", "");
  replace_all(lines, " color=\"white\"", "");
  replace_all(lines, " color=\"gray\"", "");
  replace_all(lines, "'black'", "'currentColor'");
  replace_all(lines, "\"black\"", "\"currentColor\"");
  replace_all(lines, " shape-rendering='crispEdges'", "");
  replace_all(lines, " stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", "");
  shorten_colours(lines);
  drop_empty_groups(lines);
  return fmt::format(
      "<svg viewBox=\"{}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
      "aria-label=\"{}\"><g>\n{}",
      box, for_html(description), lines);
}

std::string standalone_svg(const std::string& svg) {
  constexpr std::string_view kStyle =
      "<style>svg{color:#1c2127;background:#fff}"
      "@media(prefers-color-scheme:dark){svg{color:#dfe3e8;background:#15181c}}</style>";
  std::string file = svg;
  const std::size_t end = file.find("><g>");
  if (end != std::string::npos) file.insert(end + 1, kStyle);
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + file;
}

}  // namespace impart::report
