#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "impart/core/ids.h"
#include "impart/core/philox.h"

namespace impart {

/// What a random stream is for, as a 32-bit number derived from a name (FNV-1a).
class Purpose {
 public:
  constexpr explicit Purpose(std::string_view name) {
    for (const char letter : name) {
      code_ = (code_ ^ static_cast<unsigned char>(letter)) * 16777619u;
    }
  }
  constexpr std::uint32_t code() const { return code_; }

 private:
  std::uint32_t code_ = 2166136261u;
};

/// The worker of streams that all workers share.
inline constexpr WorkerId kAllWorkers{std::numeric_limits<std::uint32_t>::max()};

/// Which stream: equal names give equal numbers on every machine; different names give independent
/// ones.
struct StreamName {
  std::uint64_t seed = 0;
  Purpose purpose;
  std::uint32_t epoch = 0;
  WorkerId worker = kAllWorkers;
};

/// A sequence of random numbers that depends on nothing but its name, so that any process can
/// recompute any choice and a resumed run goes on bit for bit.
///
/// Block b of the stream is Philox4x32-10 with the seed as key (low word first) and the counter
/// {b, purpose, epoch, worker}; its four words are used in order. A stream holds 2^34 words and
/// throws Error after the last. All draws use integer arithmetic and IEEE +, -, *, / and sqrt only,
/// never the standard library's distributions or logarithm, whose results differ by platform.
class RandomStream {
 public:
  explicit RandomStream(const StreamName& name);

  /// The next 32 or 64 random bits. 64 bits are two words, low word first.
  std::uint32_t next32() {
    if (used_ == words_.size()) refill();
    return words_[used_++];
  }
  std::uint64_t next64() {
    const std::uint64_t low = next32();
    return low | (std::uint64_t{next32()} << 32);
  }

  /// Uniform in 0..bound-1, without bias (Lemire's multiply and reject). One word per try for
  /// bounds up to 2^32, two beyond. bound must not be 0.
  std::uint64_t below(std::uint64_t bound);

  /// Uniform in [0, 1), a multiple of 2^-53. Two words.
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

  /// Uniform in (0, 1): never 0, so that its logarithm is finite. Two words.
  double open_uniform() { return (static_cast<double>(next64() >> 12) + 0.5) * 0x1p-52; }

  /// Exponential with mean 1, positive. Two words.
  double exponential();

  /// Standard normal by inversion (Wichura's AS 241). Two words.
  double normal();

 private:
  void refill();

  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxWords words_{};  ///< the last ones are the next
  std::uint64_t blocks_ = 0;
  std::size_t used_ = std::tuple_size_v<PhiloxWords>;
};

/// Fisher–Yates from the back: for i = N-1..1 swaps items[i] with items[below(i + 1)].
template <class T>
void shuffle(std::span<T> items, RandomStream& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.below(i)]);
  }
}

/// Natural logarithm of a positive, finite, normal number, to within 2 ulp, the same bits on every
/// IEEE machine.
double portable_log(double x);

/// e^x for x up to 0, to within 4 ulp, the same bits on every IEEE machine; 0 where it is no normal
/// number.
double portable_exp(double x);

/// Where the standard normal distribution has the share p in (0, 1) to its left (Wichura's AS 241).
double normal_quantile(double p);

}  // namespace impart
