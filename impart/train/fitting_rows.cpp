#include "impart/train/fitting_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/tensors/device_memory.h"

namespace impart::train {
namespace {

double gigabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

/// Activations grow with the examples of a pass, all else does not.
std::uint64_t estimate_need(const tensors::DeviceMemory& before, const tensors::DeviceMemory& after,
                            double times) {
  const std::uint64_t grows = after.peak - std::min(after.peak, before.used);
  return before.used + static_cast<std::uint64_t>(static_cast<double>(grows) * times);
}

}  // namespace

FoundRows find_fitting_rows(const FittingRows& search) {
  const tensors::DeviceMemory before = tensors::device_memory();
  std::int64_t rows = search.wanted;
  while (true) {
    tensors::forget_memory_peak();
    if (search.fits(rows)) break;
    if (rows <= search.smallest) {
      throw ConfigError(fmt::format(
          "the {} examples that go through the model together need more than {:.1f} GB of the "
          "GPU's memory, where {:.1f} GB can be used: a smaller workers.micro_batch, workers.batch "
          "or model, or precision=bf16, needs less",
          rows, gigabytes(tensors::device_memory().peak), gigabytes(before.most)));
    }
    rows = std::max(search.smallest, (rows + 1) / 2);
  }
  if (rows == search.wanted) return {rows, ""};
  const double times = static_cast<double>(search.wanted) / static_cast<double>(rows);
  return {
      rows,
      fmt::format("a pass over {} examples needs about {:.1f} GB of the GPU's memory, where "
                  "{:.1f} GB can be used; {} examples fit (workers.micro_batch={})",
                  search.wanted, gigabytes(estimate_need(before, tensors::device_memory(), times)),
                  gigabytes(before.most), rows, rows)};
}

}  // namespace impart::train
