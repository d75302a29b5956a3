#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// Among which examples "the easiest" and "the mean" are meant.
enum class SelectionScope {
  kPart,  ///< of each worker's own part
  kAll,   ///< of all examples; what is chosen stays where it is
};

/// What `prune` leaves out.
enum class PruneSide { kEasiest, kHardest };

/// How the share of a curriculum grows.
enum class CurriculumGrowth { kLinear, kRoot };

/// How much is selected, and in which epoch of the run. What a strategy does not look at, it does
/// not look at.
struct SelectionSpec {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t epochs = 0;        ///< of the run; 0: nobody knows
  double share = 0.5;              ///< that is left out, 0 to less than 1
  std::uint32_t final_epochs = 0;  ///< at the end of the run that visit everything, weight 1
  /// Above 1: so much less is left out that all workers have equally many visits, a multiple of it
  /// (or their whole part, if that is smaller; sampling draws often enough). With the size of a
  /// batch all make the same number of whole steps. Not for prune.
  std::uint64_t multiple = 1;
  SelectionScope scope = SelectionScope::kPart;
  double confidence = 0.7;  ///< kakurenbo: in the right class, from which on an example is hidden
  double budget = 1;        ///< sampling: visits for each example of a part
  double mix = 1;           ///< sampling: λ, how much importance counts; 0: uniform
  double threshold = 1.5;   ///< sampling: the gain below which all are visited
  std::uint32_t after = 0;  ///< prune: epochs before it
  PruneSide prune = PruneSide::kEasiest;
  double start = 0.5;      ///< curriculum: share that is visited first
  std::uint32_t ramp = 1;  ///< curriculum: epochs until everything is visited
  CurriculumGrowth growth = CurriculumGrowth::kLinear;
  double epsilon = 0.1;  ///< weights: added to the importance
};

/// What a selection looks at.
struct SelectionInput {
  const Parts& parts;          ///< every worker's examples, ids ascending
  std::uint64_t examples = 0;  ///< ids are below
  /// By example, larger for harder. Not finite: nothing is known of it, and so it is visited.
  /// Empty for strategies that look at none.
  std::span<const float> scores = {};
  /// By example: whether its last visit was right, for strategies that look at it.
  std::span<const std::uint8_t> correct = {};
};

/// What every worker visits in an epoch; what it owns and does not visit is hidden.
struct Selected {
  Parts visits;  ///< of its own part; ids may occur more than once
  /// By example, 0 or more. Empty: all are 1. A step's gradient is Σ weight · gradient / rows.
  std::vector<float> weights = {};
  std::vector<ExampleId> gone = {};  ///< hidden for good after this epoch, too; ids ascending
};

/// Chooses what every worker visits of its own part. Nothing moves because of it. Pure: equal
/// inputs, equal visits. Counts are exact in every part, what rounding leaves over is made up for
/// in later epochs; ties go by id.
///
/// Random choices: worker w draws from the stream (seed, "selection", epoch, w).
using Selection = Selected(const SelectionInput& input, const SelectionSpec& spec);

Selection visit_all, hide_randomly, hide_below_mean, hide_confident, sample_by_importance,
    prune_for_good, begin_with_easy, weight_by_importance;

/// The numbers that a strategy was published with.
struct PublishedSelection {
  double share = 0;        ///< that is left out
  double final_share = 0;  ///< of the run's epochs, at its end, that visit everything
};

/// What selections look at, besides the parts.
struct SelectionNeeds {
  ImportanceSource source = ImportanceSource::kNone;  ///< kNone, kTrainingLoss or kNotion
  bool correct = false;
  bool refresh = false;  ///< what it hides gets a forward pass at the end of the epoch
  /// The weights of a part's visits sum to its size: the gradient of an epoch is that of all.
  bool keeps_sum = false;
  bool for_good = false;  ///< what it hides after SelectionSpec::after epochs never comes back
  bool ramps = false;     ///< it visits everything from SelectionSpec::ramp epochs on
};

/// A selection and what it looks at: a row of kSelections, or any function.
struct AnySelection : AnyEntry<Selection> {
  SelectionNeeds needs = {};
  PublishedSelection published = {};
};

/// A row of kSelections.
struct SelectionEntry : Entry<Selection> {
  SelectionNeeds needs = {};
  PublishedSelection published = {};

  operator AnySelection() const {  // NOLINT: a row converts
    return {{std::string(name), std::string(summary), function}, needs, published};
  }
};

inline constexpr SelectionEntry kSelections[] = {
    {{"all", "every example once", visit_all}, {.keeps_sum = true}},
    {{"random", "leave out a random share, the others weigh more: the control", hide_randomly},
     {.keeps_sum = true},
     {.share = 0.3}},
    {{"infobatch", "leave out a random share of those below the mean loss, reweigh the rest",
      hide_below_mean},
     {.source = ImportanceSource::kTrainingLoss, .keeps_sum = true},
     {.share = 0.5, .final_share = 0.125}},
    {{"kakurenbo", "hide the lowest losses that are right with confidence, refresh them",
      hide_confident},
     {.source = ImportanceSource::kTrainingLoss, .correct = true, .refresh = true},
     {.share = 0.3}},
    {{"sampling", "draw with replacement by importance, weigh by 1/probability",
      sample_by_importance},
     {.source = ImportanceSource::kNotion}},
    {{"prune", "from some epoch on the least important never come back", prune_for_good},
     {.source = ImportanceSource::kNotion, .for_good = true},
     {.share = 0.5}},
    {{"curriculum", "the easiest first, more and more of the others", begin_with_easy},
     {.source = ImportanceSource::kNotion, .ramps = true}},
    {{"weights", "every example once, weighed by its importance", weight_by_importance},
     {.source = ImportanceSource::kNotion, .keeps_sum = true}},
};
static_assert(names_are_unique(kSelections));

/// ConfigError if a number of the spec is not one that a selection can have.
void check_selection(const SelectionSpec& spec);

/// What a selection chooses: all of the parts in the run's final epochs, nothing of what is `gone`
/// ever. ConfigError if the spec cannot be, the input lacks what the selection looks at, or its
/// answer names examples of other workers or has weights below 0 or not finite.
Selected select_visits(const AnySelection& selection, const SelectionInput& input,
                       const SelectionSpec& spec, std::span<const ExampleId> gone = {});

/// How many visits, and how evenly.
struct VisitCounts {
  std::uint64_t visits = 0;
  std::uint64_t hidden = 0;  ///< examples without a visit
  double max_over_mean = 1;  ///< of the workers' visits; 1 if there are none
};
VisitCounts count_visits(const Selected& selected, std::uint64_t examples);

/// Adds 1 to the numbers of all examples without a visit: how often each was hidden. Nothing is
/// counted where there are no numbers.
void count_hidden(const Selected& selected, std::span<std::uint32_t> times_hidden);

/// What every worker owns and does not visit, ids ascending.
Parts hidden_parts(const Parts& parts, const Selected& selected, std::uint64_t examples);

}  // namespace impart::placement
