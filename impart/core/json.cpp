#include "impart/core/json.h"

namespace impart {

void check_json_depth(std::string_view text, std::string_view where) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > kDeepest) {
      throw DataError(
          fmt::format("{}: offset {}: nested deeper than {} levels", where, i, kDeepest));
    }
  }
}

}  // namespace impart
