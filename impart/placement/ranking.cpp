#include "impart/placement/ranking.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

namespace impart::placement {
namespace {

constexpr int kMaxDigitBits = 11;
constexpr int kBucketSizeBits = 12;        // aim at buckets of about 2^12 elements
constexpr std::size_t kSmallBucket = 256;  // below this std::sort is faster than counting digits
constexpr std::size_t kRunLength = 1024;

/// A key and an id in 8 bytes, for float scores and ids below 2^32.
class CompactElement {
 public:
  CompactElement() = default;
  CompactElement(std::uint64_t key, std::uint64_t id) : bits_(key << 32 | id) {}
  std::uint64_t key() const { return bits_ >> 32; }
  std::uint64_t id() const { return bits_ & 0xFFFFFFFF; }
  auto operator<=>(const CompactElement&) const = default;

 private:
  std::uint64_t bits_;
};

class WideElement {
 public:
  WideElement() = default;
  WideElement(std::uint64_t key, std::uint64_t id) : key_(key), id_(id) {}
  std::uint64_t key() const { return key_; }
  std::uint64_t id() const { return id_; }
  auto operator<=>(const WideElement&) const = default;

 private:
  std::uint64_t key_;
  std::uint64_t id_;
};

/// An unsigned number that ascends as the finite score descends.
template <class Score>
auto descending_key(Score score) {
  using Bits = std::conditional_t<sizeof(Score) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = std::bit_cast<Bits>(score + Score{0});  // -0 becomes +0: they tie
  return (bits & kSign) != 0 ? bits : static_cast<Bits>(~bits & ~kSign);
}

/// Sorts buckets by the low bits of their keys; keeps its buffers from one bucket to the next.
template <class Element>
class BucketSorter {
 public:
  explicit BucketSorter(int key_bits)
      : passes_((key_bits + kMaxDigitBits - 1) / kMaxDigitBits),
        digit_bits_(passes_ == 0 ? 0 : (key_bits + passes_ - 1) / passes_) {}

  /// The same elements, sorted, in the bucket or in a buffer that lives until the next call.
  std::span<Element> sort(std::span<Element> bucket) {
    if (bucket.size() < kSmallBucket) {
      std::sort(bucket.begin(), bucket.end());
      return bucket;
    }
    count_digits(bucket);
    std::span<Element> from = bucket;
    for (int pass = 0; pass < passes_; ++pass) {
      auto& counts = counts_[static_cast<std::size_t>(pass)];
      if (counts[digit(from.front(), pass)] == from.size()) continue;  // all alike in this digit
      reserve_spare(bucket.size());
      const std::span<Element> to =
          from.data() == bucket.data() ? std::span(spare_.get(), bucket.size()) : bucket;
      std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::uint64_t{0});
      for (const Element element : from) to[counts[digit(element, pass)]++] = element;
      from = to;
    }
    return from;
  }

 private:
  std::size_t digit(Element element, int pass) const {
    return element.key() >> (pass * digit_bits_) & ((std::size_t{1} << digit_bits_) - 1);
  }

  void count_digits(std::span<const Element> bucket) {
    for (int pass = 0; pass < passes_; ++pass) {
      auto& counts = counts_[static_cast<std::size_t>(pass)];
      counts.assign(std::size_t{1} << digit_bits_, 0);
      for (const Element element : bucket) ++counts[digit(element, pass)];
    }
  }

  void reserve_spare(std::size_t size) {
    if (size <= spare_size_) return;
    spare_.reset();
    spare_ = std::make_unique_for_overwrite<Element[]>(size);
    spare_size_ = size;
  }

  int passes_;
  int digit_bits_;
  std::array<std::vector<std::uint64_t>, 6> counts_;  // 64 key bits / 11 bits
  std::unique_ptr<Element[]> spare_;
  std::size_t spare_size_ = 0;
};

/// Hands sorted elements to the visitor as ids, in runs that stay in the cache.
template <class Element>
void emit(std::span<const Element> sorted,
          const std::function<void(std::span<const ExampleId>)>& visit) {
  std::array<ExampleId, kRunLength> run;
  for (std::size_t start = 0; start < sorted.size(); start += kRunLength) {
    const auto part = sorted.subspan(start, std::min(kRunLength, sorted.size() - start));
    std::transform(part.begin(), part.end(), run.begin(),
                   [](Element element) { return ExampleId{element.id()}; });
    visit(std::span(run).first(part.size()));
  }
}

template <class Element, class Score>
void visit_sorted(std::span<const Score> scores,
                  const std::function<void(std::span<const ExampleId>)>& visit) {
  if (scores.empty()) return;
  auto lowest = descending_key(scores.front());
  auto highest = lowest;
  for (const Score score : scores) {
    lowest = std::min(lowest, descending_key(score));
    highest = std::max(highest, descending_key(score));
  }
  // Only the bits in which the keys really differ are worth sorting by.
  const int bits = static_cast<int>(std::bit_width(std::uint64_t{highest - lowest}));
  const int wanted = static_cast<int>(std::bit_width(scores.size())) - kBucketSizeBits;
  const int top_bits =
      std::max(bits - 63, std::min(bits, std::clamp(wanted, 0, kMaxDigitBits + 1)));
  const int low_bits = bits - top_bits;

  std::vector<std::uint64_t> ends(std::size_t{1} << top_bits);
  for (const Score score : scores)
    ++ends[std::uint64_t{descending_key(score) - lowest} >> low_bits];
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::uint64_t{0});

  const auto elements = std::make_unique_for_overwrite<Element[]>(scores.size());
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits) - 1;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    const std::uint64_t key = descending_key(scores[id]) - lowest;
    elements[ends[key >> low_bits]++] = Element(key & low_mask, id);
  }

  BucketSorter<Element> sorter(low_bits);
  std::uint64_t start = 0;
  for (const std::uint64_t end : ends) {
    emit<Element>(sorter.sort({elements.get() + start, elements.get() + end}), visit);
    start = end;
  }
}

}  // namespace

void visit_by_importance(Scores importance,
                         const std::function<void(std::span<const ExampleId>)>& visit) {
  const FiniteScores finite(importance);
  finite.view().visit([&]<class Score>(std::span<const Score> scores) {
    if constexpr (std::is_same_v<Score, float>) {
      if (std::in_range<std::uint32_t>(scores.size())) {
        visit_sorted<CompactElement>(scores, visit);
        return;
      }
    }
    visit_sorted<WideElement>(scores, visit);
  });
}

std::vector<ExampleId> rank_by_importance(Scores importance) {
  std::vector<ExampleId> ranked;
  ranked.reserve(importance.size());
  visit_by_importance(importance, [&](std::span<const ExampleId> run) {
    ranked.insert(ranked.end(), run.begin(), run.end());
  });
  return ranked;
}

}  // namespace impart::placement
