#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "impart/core/named_table.h"
#include "impart/placement/partition.h"

namespace impart::placement {

/// How large the parts of a start that draws them are.
enum class PartSizes {
  kFree,  ///< as they are drawn; a part may be empty
  kEven,  ///< they differ by at most 1
};

/// What a start is asked for.
struct StartSpec {
  std::uint64_t examples = 0;
  std::uint32_t workers = 1;
  std::uint64_t seed = 0;
  /// Class of each example, for `by-class` and `dirichlet`.
  std::span<const std::uint32_t> labels = {};
  double alpha = 0.5;  ///< `dirichlet`: small for few classes per worker; kLeastAlpha..kMostAlpha
  PartSizes sizes = PartSizes::kFree;  ///< `dirichlet`
  const Partition* given = nullptr;    ///< `file`: what it holds
};

inline constexpr double kLeastAlpha = 1e-6;
inline constexpr double kMostAlpha = 1e6;

/// Who owns what before anything is known: as data lies on its workers when a run begins. Gives
/// every example to exactly one worker; parts may differ in size, and be empty. Pure: equal inputs,
/// equal partition. ConfigError if the spec cannot be met.
using Start = Partition(const StartSpec& spec);

Start start_at_random, start_in_order, start_by_class, start_by_dirichlet, start_as_given;

/// A start and what it looks at: a row of kStarts, or any function.
struct AnyStart : AnyEntry<Start> {
  bool uses_labels = false;
  bool is_even = false;     ///< parts differ by at most 1, whatever the spec
  bool needs_file = false;  ///< it takes what was read from a file
};

/// A row of kStarts.
struct StartEntry : Entry<Start> {
  bool uses_labels = false;
  bool is_even = false;
  bool needs_file = false;

  operator AnyStart() const {  // NOLINT: a row converts
    return {{std::string(name), std::string(summary), function}, uses_labels, is_even, needs_file};
  }
};

/// The start that every epoch of a warm-up deals anew.
inline constexpr std::string_view kRandomStart = "random";

inline constexpr StartEntry kStarts[] = {
    {{kRandomStart, "shuffle and deal", start_at_random}, false, true},
    {{"contiguous", "in the order of their ids, cut into equal runs", start_in_order}, false, true},
    {{"by-class", "sorted by class, cut into equal runs: few classes per worker", start_by_class},
     true,
     true},
    {{"dirichlet", "class shares drawn from a Dirichlet distribution (alpha, sizes)",
      start_by_dirichlet},
     true},
    {{"file", "as a file says (id,worker or .npy)", start_as_given}, false, false, true},
};
static_assert(names_are_unique(kStarts));

/// ConfigError if there are no workers, or labels are for another number of examples. Every start
/// calls it first.
void check_start(const StartSpec& spec);

/// The same for starts that look at labels: `name` cannot do without.
void check_labelled_start(const StartSpec& spec, std::string_view name);

/// What a file says about who owns what at the start. DataError that names the line if an id is
/// missing, is there twice or is none of `examples`, or a worker is none of `workers`.
Partition read_start(const std::string& path, std::uint64_t examples, std::uint32_t workers);

}  // namespace impart::placement
