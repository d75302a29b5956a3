#include "cli/numbers.h"

#include <string>

#include <fmt/format.h>

namespace impart::cli {

CLI::Validator positive_number() {
  return {[](const std::string& text) -> std::string {
            const bool fits = CLI::PositiveNumber(text).empty();
            return fits ? "" : fmt::format("'{}' is wrong; give a number above 0", text);
          },
          "POSITIVE"};
}

CLI::Validator number_from_zero() {
  return {[](const std::string& text) -> std::string {
            const bool fits = CLI::NonNegativeNumber(text).empty();
            return fits ? "" : fmt::format("'{}' is wrong; give a number of 0 or more", text);
          },
          "NONNEGATIVE"};
}

CLI::Validator number_between(double least, double most) {
  return {[=](const std::string& text) -> std::string {
            const bool fits = CLI::Range(least, most)(text).empty();
            return fits ? ""
                        : fmt::format("'{}' is wrong; give a number from {} to {}", text, least,
                                      most);
          },
          fmt::format("from {} to {}", least, most)};
}

}  // namespace impart::cli
