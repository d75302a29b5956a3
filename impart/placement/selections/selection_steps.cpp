#include "impart/placement/selections/selection_steps.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace impart::placement {
namespace {

/// Ascends as the finite number does.
std::uint32_t ascending_bits(float value) {
  constexpr std::uint32_t kSign = 1u << 31;
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);  // -0 becomes +0: they tie
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// The `count` of `ids` that come first by `key`, then by position.
template <class Key>
std::vector<ExampleId> first_by(std::span<const ExampleId> ids, std::uint64_t count, Key key) {
  if (count >= ids.size()) return {ids.begin(), ids.end()};
  std::vector<std::uint64_t> keyed(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) keyed[i] = std::uint64_t{key(ids[i])} << 32 | i;
  const auto last = keyed.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(keyed.begin(), last, keyed.end());
  std::vector<ExampleId> chosen;
  chosen.reserve(count);
  for (auto at = keyed.begin(); at != last; ++at) chosen.push_back(ids[*at & 0xFFFFFFFF]);
  return chosen;
}

}  // namespace

Parts leave_out(const Parts& parts, const Hidden& hidden) {
  std::vector<std::uint64_t> sizes(parts.workers());
  const auto is_visited = [&](ExampleId id) { return !hidden[index(id)]; };
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    const auto part = parts.of(WorkerId{worker});
    sizes[worker] = static_cast<std::uint64_t>(std::count_if(part.begin(), part.end(), is_visited));
  }
  Parts visits(sizes);
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    const auto part = parts.of(WorkerId{worker});
    std::copy_if(part.begin(), part.end(), visits.of(WorkerId{worker}).begin(), is_visited);
  }
  return visits;
}

RandomStream selecting_stream(const SelectionSpec& spec, WorkerId worker) {
  return RandomStream(
      {.seed = spec.seed, .purpose = Purpose("selection"), .epoch = spec.epoch, .worker = worker});
}

void hide_some(std::span<ExampleId> ids, std::uint64_t count, RandomStream& random,
               Hidden& hidden) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(ids[i], ids[i + random.below(ids.size() - i)]);
    hidden[index(ids[i])] = true;
  }
}

std::uint64_t common_visits(std::span<const std::uint64_t> wanted, const SelectionSpec& spec) {
  if (spec.multiple <= 1 || wanted.empty()) return 0;
  const std::uint64_t most = *std::max_element(wanted.begin(), wanted.end());
  return (most + spec.multiple - 1) / spec.multiple * spec.multiple;
}

std::uint64_t hidden_for(std::uint64_t common, std::uint64_t part, std::uint64_t count) {
  return common == 0 ? count : part - std::min(part, common);
}

std::vector<ExampleId> known_of(std::span<const ExampleId> ids, std::span<const float> scores) {
  std::vector<ExampleId> known;
  known.reserve(ids.size());
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known),
               [&](ExampleId id) { return is_known(scores[index(id)]); });
  return known;
}

std::vector<ExampleId> lowest(std::span<const ExampleId> ids, std::span<const float> scores,
                              std::uint64_t count) {
  return first_by(ids, count, [&](ExampleId id) { return ascending_bits(scores[index(id)]); });
}

std::vector<ExampleId> highest(std::span<const ExampleId> ids, std::span<const float> scores,
                               std::uint64_t count) {
  return first_by(ids, count, [&](ExampleId id) { return ~ascending_bits(scores[index(id)]); });
}

double mean_of(std::span<const ExampleId> ids, std::span<const float> scores) {
  if (ids.empty()) return 0;
  double sum = 0, smallest = double{scores[index(ids[0])]}, largest = smallest;
  for (const ExampleId id : ids) {
    const double score = double{scores[index(id)]};
    sum += score;
    smallest = std::min(smallest, score);
    largest = std::max(largest, score);
  }
  return std::clamp(sum / static_cast<double>(ids.size()), smallest, largest);
}

std::vector<ExampleId> ids_of(const Parts& parts) {
  std::uint64_t end = 0, count = 0;
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    const auto part = parts.of(WorkerId{worker});
    count += part.size();
    if (!part.empty()) end = std::max(end, index(part.back()) + 1);
  }
  std::vector<bool> is_there(end);
  for (std::uint32_t worker = 0; worker < parts.workers(); ++worker) {
    for (const ExampleId id : parts.of(WorkerId{worker})) is_there[index(id)] = true;
  }
  std::vector<ExampleId> ids;
  ids.reserve(count);
  for (std::uint64_t id = 0; id < end; ++id) {
    if (is_there[id]) ids.push_back(ExampleId{id});
  }
  return ids;
}

double shift_to_positive(std::span<const float> scores) {
  float smallest = 0;
  for (const float score : scores) {
    if (is_known(score)) smallest = std::min(smallest, score);
  }
  return -double{smallest};
}

}  // namespace impart::placement
