#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impart/config/config.h"

namespace impart::config {

/// A value as it is written: one text, or the items of a list.
using WrittenValue = std::vector<std::string>;

/// How values of one type are written, and which are allowed.
template <class T>
struct ValueRule {
  std::string allowed;  ///< "1 or more", "fp32 | tf32 | bf16"
  bool is_list = false;
  bool joins_lists = false;  ///< a list may be written, but is one text
  /// ConfigError says what was found and what is allowed.
  std::function<T(const WrittenValue&)> read;
  /// read(write(value)) == value, exactly.
  std::function<WrittenValue(const T&)> write;
};

/// Whole numbers from `least` to `most`, which may be left open, of a unit ("MiB") that is not
/// written.
template <class T>
ValueRule<T> whole(T least, T most = std::numeric_limits<T>::max(), std::string_view unit = "");
extern template ValueRule<std::uint32_t> whole(std::uint32_t, std::uint32_t, std::string_view);
extern template ValueRule<std::uint64_t> whole(std::uint64_t, std::uint64_t, std::string_view);

/// So many epochs of a run, or a share of it ("50%"), which is more than 0 if `least` is. For
/// Epochs and EpochInterval.
template <class T>
ValueRule<T> epochs(std::uint32_t least, std::uint32_t most);
extern template ValueRule<Epochs> epochs(std::uint32_t, std::uint32_t);
extern template ValueRule<EpochInterval> epochs(std::uint32_t, std::uint32_t);

/// Which numbers are allowed.
struct NumberRange {
  double least = 0;
  double most = std::numeric_limits<double>::max();
  bool without_least = false;  ///< the value must be more than `least`
  bool without_most = false;
};
/// Finite numbers.
ValueRule<double> number(const NumberRange& range);

/// A share of something, more than 0 and less than 1, as "0.1" or "10%"; 0 is written as "none".
ValueRule<double> share_or_none();

/// A seed, or "seed" for that of the run.
ValueRule<std::optional<std::uint64_t>> own_seed();

/// What `rule` allows, or the word that stands for none.
template <class T>
ValueRule<std::optional<T>> or_word(const std::string& word, const ValueRule<T>& rule) {
  const auto read = [word, rule](const WrittenValue& written) -> std::optional<T> {
    if (written == WrittenValue{word}) return std::nullopt;
    return rule.read(written);
  };
  const auto write = [word, rule](const std::optional<T>& value) -> WrittenValue {
    return value ? rule.write(*value) : WrittenValue{word};
  };
  return {.allowed = rule.allowed + ", or " + word, .read = read, .write = write};
}

/// true | false
ValueRule<bool> flag();

/// One line of UTF-8.
ValueRule<std::string> text();

/// One or more of them; a list becomes one text with commas between.
ValueRule<std::string> joined_texts();

/// One of `names`; any text if there are none to choose from. `kind` is the word for it in
/// messages ("model").
ValueRule<std::string> name_of(const std::string& kind, const std::vector<std::string_view>& names);

/// A list of different ones of `names`.
ValueRule<std::vector<std::string>> names_of_many(const std::string& kind,
                                                  const std::vector<std::string_view>& names);

/// step | epoch | a number of steps
ValueRule<SyncRule> sync_rule();

/// worker | shared | a number of workers, for WorkersConfig::batch_norm
ValueRule<std::uint32_t> norm_sharing();
/// "accuracy >= 82"
ValueRule<StopTarget> stop_target();

/// One of a few values that have names.
template <class E>
ValueRule<E> choice(const std::string& kind,
                    const std::vector<std::pair<std::string_view, E>>& values) {
  std::vector<std::string_view> names;
  names.reserve(values.size());
  for (const auto& [name, value] : values) names.push_back(name);
  const ValueRule<std::string> by_name = name_of(kind, names);
  const auto read = [by_name, values](const WrittenValue& written) {
    const std::string typed = by_name.read(written);
    std::size_t at = 0;
    while (values[at].first != typed) ++at;
    return values[at].second;
  };
  const auto write = [values](const E& wanted) -> WrittenValue {
    for (const auto& [name, value] : values) {
      if (value == wanted) return {std::string(name)};
    }
    return {"?"};  // no name, so reading it back fails
  };
  return {.allowed = by_name.allowed, .read = read, .write = write};
}

}  // namespace impart::config
