#include "impart/train/run_notes.h"

#include <fmt/format.h>

#include "impart/placement/measures/class_skew.h"

namespace impart::train {

std::optional<SkewedParts> find_skew(const placement::Partition& partition,
                                     std::span<const std::uint32_t> labels) {
  if (labels.empty()) return std::nullopt;
  const SkewedParts parts{.skew = placement::mean_class_skew(partition, labels),
                          .by_chance = placement::expected_class_skew(partition, labels)};
  if (parts.skew <= parts.by_chance + placement::kNotableClassSkew) return std::nullopt;
  return parts;
}

std::string describe_skewed_norms(std::uint32_t epoch, const SkewedParts& parts) {
  return fmt::format(
      "epoch {}: the workers' parts differ in their classes (skew {:.2f}, {:.2f} by chance), and "
      "each normalises with its own batch: on CIFAR-10 with 128 workers that gave 25 % instead of "
      "84 %; workers.batch_norm=shared or model.norm=group avoids it, an exchange makes it less",
      epoch + 1, parts.skew, parts.by_chance);
}

std::string describe_divergence(std::uint32_t epoch, double loss) {
  return fmt::format("epoch {}: the training loss is {}: diverged", epoch + 1, loss);
}

std::string describe_threads(int before, int now) {
  return fmt::format(
      "the run was computed with threads={} and goes on with {}: its last bits will not "
      "be those of an unbroken run",
      before, now);
}

}  // namespace impart::train
