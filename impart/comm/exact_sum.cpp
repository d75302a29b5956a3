#include "impart/comm/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::comm {
namespace {

using Contributions = std::span<const std::span<const float>>;

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kPieceBlocks = 64;
constexpr std::uint64_t kMostContributions = std::uint64_t{1} << 20;
constexpr std::int32_t kMagnitudeMask = 0x7fffffff;
constexpr std::int32_t kInfinityBits = 0x7f800000;
constexpr int kMantissaBits = 23;

/// Adding it to a double below 2^51 in magnitude leaves the rounded integer in the low bits.
constexpr double kToInteger = 0x1.8p52;

/// Three counts in one integer, each of up to 2^20 contributions.
constexpr std::int64_t kOneNan = 1;
constexpr std::int64_t kOnePositive = std::int64_t{1} << 21;
constexpr std::int64_t kOneNegative = std::int64_t{1} << 42;
constexpr std::int64_t kCountMask = kOnePositive - 1;

/// What the processes must agree on before they round: one integer per block each.
struct BlockTops {
  std::span<std::int64_t> exponent;    ///< biased, of the largest finite magnitude
  std::span<std::int64_t> not_finite;  ///< 1 if there is a NaN or an infinity
};

/// The bits of a magnitude order like the magnitude, NaN last.
std::int32_t magnitude_bits(float value) {
  return std::bit_cast<std::int32_t>(value) & kMagnitudeMask;
}

void raise_top(std::span<const float> values, std::int64_t& exponent, std::int64_t& not_finite) {
  std::int32_t largest = 0;
  for (const float value : values) largest = std::max(largest, magnitude_bits(value));
  if (largest >= kInfinityBits) {
    not_finite = 1;
    largest = 0;
    for (const float value : values) {
      if (std::isfinite(value)) largest = std::max(largest, magnitude_bits(value));
    }
  }
  exponent = std::max(exponent, std::int64_t{largest >> kMantissaBits});
}

/// The steps between two integers of a block: 2^-42 of the power of two above every magnitude.
/// Subnormal numbers have exponent 0 but lie below the same power of two as exponent 1.
double step_of(std::int64_t exponent) {
  return std::ldexp(1.0, static_cast<int>(std::max<std::int64_t>(exponent, 1)) - 168);
}

void add_rounded(std::span<const float> values, double steps_per_one, std::int64_t* sums) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double shifted = static_cast<double>(values[i]) * steps_per_one + kToInteger;
    sums[i] += std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kToInteger);
  }
}

void add_finite_rounded(std::span<const float> values, double steps_per_one, std::int64_t* sums) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) add_rounded(values.subspan(i, 1), steps_per_one, sums + i);
  }
}

void count_not_finite(std::span<const float> values, std::int64_t* counts) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::int64_t infinite = values[i] > 0 ? kOnePositive : kOneNegative;
    counts[i] += std::isnan(values[i]) ? kOneNan : infinite;
  }
}

void put_not_finite(std::span<const std::int64_t> counts, std::span<float> sum) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const bool nan = (counts[i] & kCountMask) != 0;
    const bool positive = (counts[i] / kOnePositive & kCountMask) != 0;
    const bool negative = counts[i] / kOneNegative != 0;
    if (nan || (positive && negative)) {
      sum[i] = std::numeric_limits<float>::quiet_NaN();
    } else if (positive || negative) {
      sum[i] = positive ? kInf : -kInf;
    }
  }
}

class ExactSum {
 public:
  ExactSum(Communicator& communicator, Contributions contributions, std::span<float> sum)
      : communicator_(communicator),
        contributions_(contributions),
        sum_(sum),
        blocks_((sum.size() + kBlock - 1) / kBlock),
        tops_(2 * blocks_ + 1) {}

  void run() {
    agree_on_tops();
    for (std::size_t block = 0; block < blocks_; block += kPieceBlocks) {
      const std::size_t end = std::min(block + kPieceBlocks, blocks_);
      sum_piece(block, end);
      mend_piece(block, end);
    }
  }

 private:
  std::span<float> block_of_sum(std::size_t block) const { return cut(sum_, block); }

  template <class T>
  static std::span<T> cut(std::span<T> values, std::size_t block) {
    const std::size_t first = block * kBlock;
    return values.subspan(first, std::min(kBlock, values.size() - first));
  }

  BlockTops tops() {
    const std::span<std::int64_t> all = tops_;
    return {all.first(blocks_), all.subspan(blocks_, blocks_)};
  }

  /// The last integer is the largest number of contributions of a process, so that all refuse too
  /// many of them alike.
  void agree_on_tops() {
    for (const std::span<const float> contribution : contributions_) {
      for (std::size_t block = 0; block < blocks_; ++block) {
        raise_top(cut(contribution, block), tops().exponent[block], tops().not_finite[block]);
      }
    }
    tops_.back() = static_cast<std::int64_t>(contributions_.size());
    communicator_.all_reduce_max(tops_);
    const std::uint64_t most = static_cast<std::uint64_t>(tops_.back()) * communicator_.size();
    if (most > kMostContributions) {
      throw ConfigError(
          fmt::format("an exact sum of up to {} contributions: at most {} are possible", most,
                      kMostContributions));
    }
  }

  void sum_piece(std::size_t first, std::size_t end) {
    const std::size_t start = first * kBlock;
    sums_.assign(std::min(end * kBlock, sum_.size()) - start, 0);
    for (std::size_t block = first; block < end; ++block) {
      const double steps_per_one = 1.0 / step_of(tops().exponent[block]);
      const auto add = tops().not_finite[block] ? add_finite_rounded : add_rounded;
      for (const std::span<const float> contribution : contributions_) {
        add(cut(contribution, block), steps_per_one, sums_.data() + block * kBlock - start);
      }
    }
    count_not_finite_of(first, end);
    communicator_.all_reduce_sum(sums_);
    for (std::size_t block = first; block < end; ++block) {
      const double step = step_of(tops().exponent[block]);
      const std::int64_t* sums = sums_.data() + block * kBlock - start;
      for (float& element : block_of_sum(block)) {
        element = static_cast<float>(static_cast<double>(*sums++) * step);
      }
    }
  }

  /// Before the sum is written, which may be a contribution.
  void count_not_finite_of(std::size_t first, std::size_t end) {
    not_finite_.clear();
    for (std::size_t block = first; block < end; ++block) {
      if (tops().not_finite[block] == 0) continue;
      const std::size_t start = not_finite_.size();
      not_finite_.resize(start + block_of_sum(block).size());
      for (const std::span<const float> contribution : contributions_) {
        count_not_finite(cut(contribution, block), not_finite_.data() + start);
      }
    }
  }

  void mend_piece(std::size_t first, std::size_t end) {
    if (not_finite_.empty()) return;
    communicator_.all_reduce_sum(not_finite_);
    std::span<const std::int64_t> counts = not_finite_;
    for (std::size_t block = first; block < end; ++block) {
      if (tops().not_finite[block] == 0) continue;
      const std::span<float> sum = block_of_sum(block);
      put_not_finite(counts.first(sum.size()), sum);
      counts = counts.subspan(sum.size());
    }
  }

  Communicator& communicator_;
  Contributions contributions_;
  std::span<float> sum_;
  std::size_t blocks_;
  std::vector<std::int64_t> tops_;
  std::vector<std::int64_t> sums_;        ///< of a piece
  std::vector<std::int64_t> not_finite_;  ///< counts of a piece, of its blocks that need them
};

}  // namespace

void exact_all_reduce_sum(Communicator& communicator, Contributions contributions,
                          std::span<float> sum) {
  for (const std::span<const float> contribution : contributions) {
    if (contribution.size() == sum.size()) continue;
    throw ConfigError(fmt::format("a contribution of {} elements to a sum of {}",
                                  contribution.size(), sum.size()));
  }
  ExactSum(communicator, contributions, sum).run();
}

}  // namespace impart::comm
