#include "impart/results/run_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/results/run_results.h"
#include "impart/run/summary.h"

namespace impart::results {
namespace {

constexpr std::string_view kResultStarts[] = {"best_", "final_", "diverged_at"};
constexpr std::string_view kCostStarts[] = {"seconds_", "bytes_", "examples_moved", "messages",
                                            "peak_stored_examples"};

RunResult finished_run(const std::string& folder) {
  try {
    return read_run(folder);
  } catch (const DataError& error) {
    const std::string_view what = error.what();
    throw DataError(what.starts_with(folder) ? std::string(what)
                                             : fmt::format("{}: {}", folder, what));
  }
}

std::vector<KeyPair> different_keys(const RunResult& first, const RunResult& second) {
  const SettingTexts one = flatten_config(first.config), two = flatten_config(second.config);
  std::vector<KeyPair> different;
  for (const auto& [key, value] : one) {
    const std::string_view other = setting(two, key);
    if (key != "output" && value != other) different.push_back({key, value, std::string(other)});
  }
  for (const auto& [key, value] : two) {
    const bool is_new = std::none_of(
        one.begin(), one.end(), [&name = key](const auto& item) { return item.first == name; });
    if (is_new && !value.empty()) different.push_back({key, "", value});
  }
  return different;
}

/// Those numbers of both summaries, in the order of summary.json, whose names begin so.
template <std::size_t N>
std::vector<NumberPair> numbers(const RunResult& first, const RunResult& second,
                                const std::string_view (&starts)[N]) {
  std::vector<NumberPair> pairs;
  const auto add = [&](const char* name, const auto&, run::OnResume) {
    const bool is_wanted = std::any_of(std::begin(starts), std::end(starts), [&](auto start) {
      return std::string_view(name).starts_with(start);
    });
    const auto one = first.number(name), two = second.number(name);
    if (!is_wanted || (!one && !two)) return;
    pairs.push_back({name, one.value_or(std::nan("")), two.value_or(std::nan(""))});
  };
  run::RunSummary order;
  run::for_each_summary_member(order, add);
  return pairs;
}

}  // namespace

RunDifference compare_runs(const std::string& first, const std::string& second) {
  const RunResult one = finished_run(first), two = finished_run(second);
  const std::string weights = run::read_summary(first).weights_sha256;
  return {.configuration = different_keys(one, two),
          .results = numbers(one, two, kResultStarts),
          .costs = numbers(one, two, kCostStarts),
          .same_weights = !weights.empty() && weights == run::read_summary(second).weights_sha256};
}

}  // namespace impart::results
