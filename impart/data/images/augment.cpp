#include "impart/data/images/augment.h"

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::data {

AugmentPlan leave_alone(const AugmentSpec&) {
  return {};
}

AugmentPlan crop_and_flip(const AugmentSpec& spec) {
  if (spec.padding < 0 || spec.padding > kLargestShift) {
    throw ConfigError(fmt::format("crop-flip with padding {}, which is not in 0..{}", spec.padding,
                                  kLargestShift));
  }
  std::vector<std::int32_t> packed_choices;
  for (int down = -spec.padding; down <= spec.padding; ++down) {
    for (int right = -spec.padding; right <= spec.padding; ++right) {
      packed_choices.push_back(pack({.right = right, .down = down, .mirrored = false}));
      packed_choices.push_back(pack({.right = right, .down = down, .mirrored = true}));
    }
  }
  RandomStream random({.seed = spec.seed, .purpose = Purpose("augment"), .epoch = spec.epoch});
  AugmentPlan plan(spec.examples);
  // One multiplication maps a word to a choice. Without rejection, so that word i is example i's.
  for (std::int32_t& choice : plan) {
    choice = packed_choices[std::uint64_t{random.next32()} * packed_choices.size() >> 32];
  }
  return plan;
}

AugmentPlan flip(const AugmentSpec& spec) {
  return crop_and_flip(
      {.seed = spec.seed, .epoch = spec.epoch, .examples = spec.examples, .padding = 0});
}

AugmentPlan shift_and_mirror(const AugmentSpec& spec) {
  AugmentPlan plan = crop_and_flip(
      {.seed = spec.seed, .epoch = spec.epoch, .examples = spec.examples, .padding = 2});
  RandomStream sides({.seed = spec.seed, .purpose = Purpose("sides")});
  for (std::int32_t& choice : plan) {
    CropFlip change = unpack_crop_flip(choice);
    change.mirrored = ((sides.next32() >> 31) ^ (spec.epoch & 1)) != 0;
    choice = pack(change);
  }
  return plan;
}

}  // namespace impart::data
