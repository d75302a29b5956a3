#include "impart/data/payloads/batch_slot.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace impart::data {
namespace {

/// The row that a skipped one becomes a copy of.
std::optional<std::size_t> find_substitute(const BatchSlot& slot, std::size_t row) {
  const auto fits = [&](std::size_t other) {
    return slot.valid[other] != 0 && slot.rows[other].worker == slot.rows[row].worker;
  };
  for (std::size_t other = row; other-- > 0;) {
    if (fits(other)) return other;
  }
  for (std::size_t other = row + 1; other < slot.rows.size(); ++other) {
    if (fits(other)) return other;
  }
  return std::nullopt;
}

void replace(BatchSlot& slot, std::size_t row) {
  const std::span<std::uint8_t> image = slot.image(row);
  if (const std::optional<std::size_t> other = find_substitute(slot, row)) {
    std::memcpy(image.data(), slot.image(*other).data(), image.size());
  } else {
    std::fill(image.begin(), image.end(), std::uint8_t{0});
  }
}

}  // namespace

void BatchSlot::open(std::span<const BatchRow> batch_rows, std::span<std::uint8_t> batch_pixels) {
  rows = batch_rows;
  pixels = batch_pixels;
  valid.assign(rows.size(), 1);
  failures.clear();
  unready.clear();
  arrived.clear();
  fresh = 0;
  left = rows.size();
  had_unready = false;
}

void BatchSlot::take(std::size_t most, std::vector<std::size_t>& taken) {
  while (taken.size() < most && !arrived.empty()) {
    taken.push_back(arrived.back());
    arrived.pop_back();
  }
  while (taken.size() < most && fresh < rows.size()) taken.push_back(fresh++);
}

std::vector<SkippedExample> settle_failures(BatchSlot& slot, OnBadExample on_bad_example) {
  std::sort(slot.failures.begin(), slot.failures.end(),
            [](const FailedRow& a, const FailedRow& b) { return a.row < b.row; });
  for (const FailedRow& failure : slot.failures) {
    if (!failure.is_bad_example || on_bad_example == OnBadExample::kFail) {
      std::rethrow_exception(failure.why);
    }
    slot.valid[failure.row] = 0;
  }
  std::vector<SkippedExample> skipped;
  for (const FailedRow& failure : slot.failures) {
    replace(slot, failure.row);
    skipped.push_back({slot.rows[failure.row].id, failure.reason});
  }
  return skipped;
}

}  // namespace impart::data
