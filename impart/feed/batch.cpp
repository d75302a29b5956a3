#include "impart/feed/batch.h"

#include <algorithm>
#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/cuda/images.h"
#include "impart/tensors/torch_stream.h"

namespace impart::feed {
namespace {

template <class T>
at::Tensor copy_to(std::span<const T> values, at::IntArrayRef shape, at::ScalarType type,
                   at::Device device) {
  // from_blob wants a mutable pointer; to() with copy only reads it.
  return at::from_blob(const_cast<T*>(values.data()), shape, at::TensorOptions(type))
      .to(at::TensorOptions(type).device(device), /*non_blocking=*/false, /*copy=*/true);
}

void check_batch(const DeviceImages& images, const at::Tensor& ids, const at::Tensor& plan) {
  if (images.pixels.dim() != 4 || images.pixels.scalar_type() != at::kByte ||
      !images.pixels.is_contiguous()) {
    throw Error("make_batch: pixels must be a contiguous uint8 tensor [N, C, H, W]");
  }
  if (ids.dim() != 1 || ids.scalar_type() != at::kLong) {
    throw Error("make_batch: ids must be an int64 tensor [B]");
  }
  if (plan.defined() && (plan.scalar_type() != at::kInt || plan.dim() != 1 ||
                         plan.size(0) != images.pixels.size(0))) {
    throw Error(
        fmt::format("make_batch: the plan must be an int32 tensor [{}]", images.pixels.size(0)));
  }
}

/// What each of the 256 values of a channel becomes.
using ValueTable = std::array<float, 256>;

std::vector<ValueTable> tabulate_values(const at::Tensor& mean, const at::Tensor& deviation) {
  std::vector<ValueTable> tables(static_cast<std::size_t>(mean.size(0)));
  const auto means = mean.accessor<float, 1>(), deviations = deviation.accessor<float, 1>();
  for (std::size_t channel = 0; channel < tables.size(); ++channel) {
    const auto c = static_cast<std::int64_t>(channel);
    for (std::size_t value = 0; value < 256; ++value) {
      tables[channel][value] = (static_cast<float>(value) / 255.0f - means[c]) / deviations[c];
    }
  }
  return tables;
}

/// One channel of one image. What lies outside is the table's entry for 0.
void crop_plane(const std::uint8_t* plane, std::int64_t height, std::int64_t width,
                const data::CropFlip& choice, const ValueTable& table, float* out) {
  // Columns first..last-1 of the cropped row, before mirroring, come from the image.
  const std::int64_t first = std::clamp<std::int64_t>(-choice.right, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(width - choice.right, first, width);
  for (std::int64_t y = 0; y < height; ++y, out += width) {
    const std::int64_t source_y = y + choice.down;
    if (source_y < 0 || source_y >= height) {
      std::fill_n(out, width, table[0]);
      continue;
    }
    const std::uint8_t* source = plane + source_y * width + choice.right;
    if (choice.mirrored) {
      float* const end = out + width;
      std::fill(out, end - last, table[0]);
      for (std::int64_t x = first; x < last; ++x) end[-1 - x] = table[source[x]];
      std::fill(end - first, end, table[0]);
    } else {
      std::fill(out, out + first, table[0]);
      for (std::int64_t x = first; x < last; ++x) out[x] = table[source[x]];
      std::fill(out + last, out + width, table[0]);
    }
  }
}

at::Tensor make_batch_on_cpu(const DeviceImages& images, const at::Tensor& ids,
                             const at::Tensor& plan) {
  const std::int64_t count = images.pixels.size(0), channels = images.pixels.size(1);
  const std::int64_t height = images.pixels.size(2), width = images.pixels.size(3);
  const at::Tensor rows = ids.contiguous();
  const std::span<const std::int64_t> wanted(rows.data_ptr<std::int64_t>(),
                                             static_cast<std::size_t>(rows.size(0)));
  for (const std::int64_t id : wanted) {
    if (id < 0 || id >= count) {
      throw Error(fmt::format("make_batch: example {} is not in 0..{}", id, count - 1));
    }
  }
  const at::Tensor choices = plan.defined() ? plan.contiguous() : plan;
  const std::int32_t* packed = plan.defined() ? choices.data_ptr<std::int32_t>() : nullptr;
  const std::vector<ValueTable> tables = tabulate_values(images.mean, images.std);
  at::Tensor batch = at::empty({rows.size(0), channels, height, width}, at::kFloat);
  const auto* pixels = images.pixels.data_ptr<std::uint8_t>();
  float* const out = batch.data_ptr<float>();
  const std::int64_t plane = height * width;
  constexpr std::int64_t kImagesPerTask = 8;
  at::parallel_for(0, rows.size(0), kImagesPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin * channels; task < end * channels; ++task) {
      const std::int64_t id = wanted[task / channels], channel = task % channels;
      const data::CropFlip choice = packed ? data::unpack_crop_flip(packed[id]) : data::CropFlip{};
      crop_plane(pixels + (id * channels + channel) * plane, height, width, choice,
                 tables[static_cast<std::size_t>(channel)], out + task * plane);
    }
  });
  return batch;
}

at::Tensor make_batch_on_device(const DeviceImages& images, const at::Tensor& ids,
                                const at::Tensor& plan) {
  const at::Tensor rows = ids.contiguous();
  const at::Tensor choices = plan.defined() ? plan.contiguous() : plan;
  at::Tensor batch =
      at::empty({rows.size(0), images.pixels.size(1), images.pixels.size(2), images.pixels.size(3)},
                images.mean.options().memory_format(at::MemoryFormat::ChannelsLast));
  cuda::gather_images({.pixels = images.pixels.data_ptr<std::uint8_t>(),
                       .channels = images.pixels.size(1),
                       .height = images.pixels.size(2),
                       .width = images.pixels.size(3),
                       .mean = images.mean.data_ptr<float>(),
                       .deviation = images.std.data_ptr<float>(),
                       .ids = rows.data_ptr<std::int64_t>(),
                       .choices = plan.defined() ? choices.data_ptr<std::int32_t>() : nullptr,
                       .rows = rows.size(0),
                       .batch = batch.data_ptr<float>()},
                      tensors::current_stream());
  return batch;
}

/// Of each output pixel of each image, where it comes from: its index in the plane, clamped into
/// it, and 1 where that is right or 0 where the border comes in. Both [B, H·W].
struct Sources {
  at::Tensor index, inside;
};

Sources find_sources(const at::Tensor& choices, std::int64_t height, std::int64_t width) {
  const auto options = choices.options().dtype(at::kLong);
  const at::Tensor packed = choices.to(at::kLong).view({-1, 1});
  const at::Tensor right = packed.bitwise_and(255) - data::kShiftBias;
  const at::Tensor down = packed.bitwise_right_shift(8).bitwise_and(255) - data::kShiftBias;
  const at::Tensor mirrored = packed.bitwise_right_shift(16).bitwise_and(1).to(at::kBool);
  const at::Tensor x = at::arange(width, options).view({1, -1});
  const at::Tensor columns = at::where(mirrored, width - 1 - x, x) + right;  // [B, W]
  const at::Tensor rows = at::arange(height, options).view({1, -1}) + down;  // [B, H]
  const auto within = [](const at::Tensor& at, std::int64_t extent) {
    return at.ge(0).logical_and(at.lt(extent));
  };
  const at::Tensor index =
      rows.clamp(0, height - 1).unsqueeze(2) * width + columns.clamp(0, width - 1).unsqueeze(1);
  const at::Tensor inside =
      within(rows, height).unsqueeze(2).logical_and(within(columns, width).unsqueeze(1));
  return {index.flatten(1), inside.flatten(1).to(at::kByte)};
}

}  // namespace

DeviceImages put_on_device(const data::ImageSet& set, at::Device device) {
  const auto count = static_cast<std::int64_t>(set.count);
  const std::vector<std::int64_t> labels(set.labels.begin(), set.labels.end());
  const auto channels = static_cast<std::int64_t>(set.channels);
  return {.pixels = copy_to(std::span(set.pixels), {count, channels, set.height, set.width},
                            at::kByte, device),
          .labels = copy_to(std::span(labels), {count}, at::kLong, device),
          .mean = copy_to(std::span(set.mean), {channels}, at::kFloat, device),
          .std = copy_to(std::span(set.std), {channels}, at::kFloat, device)};
}

at::Tensor put_on_device(const data::AugmentPlan& plan, at::Device device) {
  if (plan.empty()) return {};
  return copy_to(std::span(plan), {static_cast<std::int64_t>(plan.size())}, at::kInt, device);
}

at::Tensor make_batch(const DeviceImages& images, const at::Tensor& ids, const at::Tensor& plan) {
  check_batch(images, ids, plan);
  if (images.pixels.is_cpu()) return make_batch_on_cpu(images, ids, plan);
  const bool has_kernel = images.pixels.is_cuda() && cuda::has_kernels();
  return has_kernel ? make_batch_on_device(images, ids, plan)
                    : make_batch_from_operations(images, ids, plan);
}

at::Tensor make_batch_from_operations(const DeviceImages& images, const at::Tensor& ids,
                                      const at::Tensor& plan) {
  check_batch(images, ids, plan);
  const std::int64_t channels = images.pixels.size(1);
  const std::int64_t height = images.pixels.size(2), width = images.pixels.size(3);
  at::Tensor bytes = images.pixels.index_select(0, ids).flatten(2);  // [B, C, H·W]
  if (plan.defined()) {
    const Sources sources = find_sources(plan.index_select(0, ids), height, width);
    bytes = bytes.gather(2, sources.index.unsqueeze(1).expand({-1, channels, -1}));
    bytes = bytes * sources.inside.unsqueeze(1);
  }
  const at::Tensor scaled = bytes.to(at::kFloat).div_(255);
  const at::Tensor batch =
      scaled.sub_(images.mean.view({1, -1, 1})).div_(images.std.view({1, -1, 1}));
  return batch.view({-1, channels, height, width});
}

}  // namespace impart::feed
