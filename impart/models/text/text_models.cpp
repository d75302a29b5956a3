#include "impart/models/text/text_models.h"

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::models {

void check_spec(const TextModelSpec& spec) {
  if (spec.vocabulary <= 0 || spec.length <= 0 || spec.classes <= 0) {
    throw ConfigError(fmt::format(
        "a model of text needs at least one token, position and class, not a vocabulary of {}, {} "
        "positions and {} classes",
        spec.vocabulary, spec.length, spec.classes));
  }
  if (spec.pad < 0 || spec.pad >= spec.vocabulary) {
    throw ConfigError(
        fmt::format("the pad id must be a token, 0 .. {}, not {}", spec.vocabulary - 1, spec.pad));
  }
  if (!(spec.dropout >= 0 && spec.dropout < 1)) {
    throw ConfigError(
        fmt::format("dropout must be at least 0 and less than 1, not {}", spec.dropout));
  }
}

}  // namespace impart::models
