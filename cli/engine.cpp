#include "cli/engine.h"

#include <array>
#include <climits>
#include <string>
#include <string_view>

#include <unistd.h>

namespace impart::cli {
namespace {

/// `list` of the tables that this program has needs no engine.
bool needs_engine(int argc, char** argv) {
  if (argc < 2) return false;
  const std::string_view command = argv[1];
  const std::string_view argument = argc > 2 ? argv[2] : "";
  const bool is_here = argument == "notions" || argument == "heuristics" || argument == "exchanges";
  return command == "train" || command == "study" || (command == "list" && !is_here);
}

}  // namespace

void hand_over_to_engine(int argc, char** argv) {
  if (!needs_engine(argc, argv)) return;
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length <= 0) return;
  const std::string engine = std::string(self.data(), static_cast<std::size_t>(length)) + "-engine";
  ::execv(engine.c_str(), argv);
}

}  // namespace impart::cli
