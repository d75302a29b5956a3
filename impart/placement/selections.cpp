#include "impart/placement/selections.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/selections/selection_steps.h"

namespace impart::placement {
namespace {

void check_range(std::string_view what, double value, bool is_right, std::string_view allowed) {
  if (is_right) return;
  throw ConfigError(fmt::format("selection: {} is {}; allowed: {}", what, value, allowed));
}

void check_input(const AnySelection& selection, const SelectionInput& input) {
  const bool needs_scores = selection.needs.source != ImportanceSource::kNone;
  if (needs_scores && input.scores.size() != input.examples) {
    throw ConfigError(
        fmt::format("there are {} scores for {} examples", input.scores.size(), input.examples));
  }
  if (selection.needs.correct && input.correct.size() != input.examples) {
    throw ConfigError(fmt::format("there are {} answers to whether {} examples were right",
                                  input.correct.size(), input.examples));
  }
}

/// Rows of a program's own may answer anything.
void check_answer(const AnySelection& selection, const SelectionInput& input,
                  const Selected& selected) {
  const auto fail = [&](const std::string& what) {
    throw ConfigError(fmt::format("selection '{}': {}", selection.name, what));
  };
  if (selected.visits.workers() != input.parts.workers()) {
    fail(fmt::format("visits of {} workers; there are {}", selected.visits.workers(),
                     input.parts.workers()));
  }
  if (!selected.weights.empty() && selected.weights.size() != input.examples) {
    fail(fmt::format("{} weights for {} examples", selected.weights.size(), input.examples));
  }
  const auto is_wrong = [](float weight) { return !(weight >= 0 && std::isfinite(weight)); };
  const auto wrong = std::find_if(selected.weights.begin(), selected.weights.end(), is_wrong);
  if (wrong != selected.weights.end()) {
    fail(fmt::format("example {} has weight {}; allowed: 0 or more",
                     wrong - selected.weights.begin(), *wrong));
  }
  for (std::uint32_t worker = 0; worker < input.parts.workers(); ++worker) {
    const auto part = input.parts.of(WorkerId{worker});
    for (const ExampleId id : selected.visits.of(WorkerId{worker})) {
      if (std::binary_search(part.begin(), part.end(), id)) continue;
      fail(fmt::format("worker {} is to visit example {}, which it does not have", worker,
                       index(id)));
    }
  }
}

Hidden visited_by_anyone(const Selected& selected, std::uint64_t examples) {
  Hidden visited(examples);
  for (std::uint32_t worker = 0; worker < selected.visits.workers(); ++worker) {
    for (const ExampleId id : selected.visits.of(WorkerId{worker})) visited[index(id)] = true;
  }
  return visited;
}

bool is_final(const SelectionSpec& spec) {
  return spec.epochs > 0 && spec.epoch + spec.final_epochs >= spec.epochs;
}

bool is_of_table(const AnySelection& selection) {
  const auto* const plain = selection.function.target<Selection*>();
  return plain != nullptr &&
         std::any_of(std::begin(kSelections), std::end(kSelections),
                     [&](const SelectionEntry& row) { return row.function == *plain; });
}

}  // namespace

void check_selection(const SelectionSpec& spec) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  const auto is_finite_from_0 = [](double value) { return value >= 0 && std::isfinite(value); };
  check_range("share", spec.share, spec.share >= 0 && spec.share < 1, "0 to less than 1");
  check_range("multiple", static_cast<double>(spec.multiple), spec.multiple >= 1, "1 or more");
  check_range("confidence", spec.confidence, spec.confidence > 0 && spec.confidence <= 1,
              "more than 0 to 1");
  check_range("budget", spec.budget, spec.budget > 0 && spec.budget <= 100, "more than 0 to 100");
  check_range("mix", spec.mix, is_share(spec.mix), "0 to 1");
  check_range("threshold", spec.threshold, is_finite_from_0(spec.threshold), "0 or more");
  check_range("start", spec.start, spec.start > 0 && spec.start <= 1, "more than 0 to 1");
  check_range("epsilon", spec.epsilon, is_finite_from_0(spec.epsilon), "0 or more");
}

Selected select_visits(const AnySelection& selection, const SelectionInput& input,
                       const SelectionSpec& spec, std::span<const ExampleId> gone) {
  check_selection(spec);
  check_input(selection, input);
  Hidden hidden(gone.empty() ? 0 : input.examples);
  for (const ExampleId id : gone) hidden[index(id)] = true;
  std::optional<Parts> left;
  if (!gone.empty()) left = leave_out(input.parts, hidden);
  const SelectionInput asked{.parts = left ? *left : input.parts,
                             .examples = input.examples,
                             .scores = input.scores,
                             .correct = input.correct};
  if (is_final(spec)) return visit_all(asked, spec);
  Selected selected = selection.function(asked, spec);
  if (!is_of_table(selection)) check_answer(selection, asked, selected);
  return selected;
}

VisitCounts count_visits(const Selected& selected, std::uint64_t examples) {
  VisitCounts counts{.hidden = examples};
  std::uint64_t most = 0;
  std::vector<bool> visited(examples);
  for (std::uint32_t worker = 0; worker < selected.visits.workers(); ++worker) {
    const auto visits = selected.visits.of(WorkerId{worker});
    counts.visits += visits.size();
    most = std::max<std::uint64_t>(most, visits.size());
    for (const ExampleId id : visits) {
      if (!visited[index(id)]) --counts.hidden;
      visited[index(id)] = true;
    }
  }
  if (counts.visits > 0) {
    counts.max_over_mean =
        static_cast<double>(most) * selected.visits.workers() / static_cast<double>(counts.visits);
  }
  return counts;
}

void count_hidden(const Selected& selected, std::span<std::uint32_t> times_hidden) {
  if (times_hidden.empty()) return;
  const Hidden visited = visited_by_anyone(selected, times_hidden.size());
  for (std::size_t id = 0; id < times_hidden.size(); ++id) times_hidden[id] += !visited[id];
}

Parts hidden_parts(const Parts& parts, const Selected& selected, std::uint64_t examples) {
  return leave_out(parts, visited_by_anyone(selected, examples));
}

}  // namespace impart::placement
