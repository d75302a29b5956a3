#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace impart::placement {

/// When a run repartitions, exchanges and measures. Epochs are counted from 0.
struct ScheduleSpec {
  std::uint32_t epochs = 100;
  /// Nobody knows when the run ends: these are its first epochs, and intervals follow each other
  /// for ever.
  bool open_end = false;
  std::uint32_t warmup = 0;  ///< epochs at the start, each with a new random partition
  /// Epoch 0 has a partition of its own, not a random one, and the warm-up keeps it, ...
  bool has_start = false;
  bool warmup_shuffle = false;  ///< ... unless it deals anew all the same
  std::uint32_t interval =
      1;  ///< epochs between two repartitionings by the heuristic; 0: never again
  std::uint32_t ignore = 0;  ///< first epochs whose signals do not count
  bool exchange =
      false;  ///< exchange before every epoch after the warm-up that does not repartition
  /// Whether decisions look at the importance. If so, no repartitioning by the heuristic may come
  /// before an epoch has been observed.
  bool needs_importance = true;
};

/// The epochs whose signals a decision is based on: first..last-1.
struct EpochRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const EpochRange&) const = default;
};

/// Something that happens right before an epoch starts.
struct ScheduleEvent {
  enum class Kind {
    kRandom,     ///< a new random partition: the first one, and every epoch of the warm-up
    kHeuristic,  ///< a new partition by the heuristic, from the importance of `window`
    kExchange,   ///< the exchange strategy moves a share of the examples
    kStart,      ///< the first partition, by a start that is not random
  };
  std::uint32_t epoch = 0;
  Kind kind = Kind::kRandom;
  EpochRange window = {};  ///< for kHeuristic: the interval that ended, without ignored epochs
  bool operator==(const ScheduleEvent&) const = default;
};

/// What happens before an epoch; nothing if nothing does. O(1).
std::optional<ScheduleEvent> event_at(const ScheduleSpec& spec, std::uint32_t epoch);

/// All events of a run in order. Epoch 0 has a random partition, or that of its start. After the
/// warm-up there are ⌊(epochs - warmup) / interval⌋ intervals, at least one if any epoch is left;
/// the last absorbs the epochs that are left over. Without warm-up the first interval trains on the
/// random partition. ConfigError if the numbers contradict each other.
std::vector<ScheduleEvent> make_schedule(const ScheduleSpec& spec);

/// For people, who count epochs from 1:
/// "epoch 21  repartition by the heuristic, importance from epochs 6..20"
std::string describe(const ScheduleEvent& event);

}  // namespace impart::placement
