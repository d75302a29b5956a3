#pragma once

#include <cstdint>
#include <optional>

namespace impart::config {

/// A number of epochs, written as such (3) or as a share of the run (50%).
struct Epochs {
  std::uint32_t count = 0;
  std::optional<double> percent = {};  ///< 0 to 100; `count` then means nothing

  constexpr Epochs(std::uint32_t number) : count(number) {}  // NOLINT(google-explicit-constructor)
  static constexpr Epochs share(double percent) {
    Epochs epochs(0);
    epochs.percent = percent;
    return epochs;
  }

  /// In a run of `epochs`: a share is rounded to the nearest number, a half upwards.
  std::uint32_t of(std::uint32_t epochs) const;
  bool operator==(const Epochs&) const = default;
};

/// The epochs between two events; 0 is never.
struct EpochInterval : Epochs {
  using Epochs::Epochs;
  constexpr EpochInterval(const Epochs& epochs) : Epochs(epochs) {}  // NOLINT

  /// A share that is not 0 is at least one epoch: rounding does not make never of often.
  std::uint32_t of(std::uint32_t epochs) const;
  /// Whether one falls on the end of the `done`-th of a run's epochs.
  bool is_due(std::uint32_t done, std::uint32_t epochs) const;
  bool operator==(const EpochInterval&) const = default;
};

}  // namespace impart::config
