#include "impart/models/layers/patch_cosines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <torch/torch.h>

#include "impart/cuda/patches.h"
#include "impart/tensors/torch_stream.h"

namespace impart::models {
namespace {

constexpr std::int64_t kSide = 3;
constexpr std::int64_t kMostFilters = 16;
/// The kernel takes them by fours.
constexpr std::int64_t kAtATime = 4;

/// How often a cosine changes its sign along rows, columns and channels.
struct Frequencies {
  std::int64_t y, x, channel;
};

/// What photos have of a cosine, relative to their brightness: with each change of sign less, in
/// space as in colour. Rounded means over small pictures of many things.
double amplitude(const Frequencies& f) {
  constexpr std::array kInSpace = {1.0, 0.28, 0.13};
  constexpr std::array kInColour = {1.0, 0.30, 0.14};
  constexpr double kBrightness = 4.5;
  return kBrightness * kInSpace[f.y] * kInSpace[f.x] *
         kInColour[std::min<std::size_t>(f.channel, kInColour.size() - 1)];
}

/// From what there is most of to what there is least of.
std::vector<Frequencies> largest_cosines(std::int64_t channels) {
  std::vector<Frequencies> all;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < kSide; ++y) {
      for (std::int64_t x = 0; x < kSide; ++x) all.push_back({y, x, c});
    }
  }
  std::ranges::stable_sort(all, std::greater{}, amplitude);
  const auto most = std::min(kMostFilters, static_cast<std::int64_t>(all.size()));
  all.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, most / kAtATime) * kAtATime));
  return all;
}

/// Element `place` of the cosine basis of a line: orthonormal over the frequencies.
double cosine(std::int64_t frequency, std::int64_t place, std::int64_t length) {
  const double norm = std::sqrt((frequency == 0 ? 1.0 : 2.0) / static_cast<double>(length));
  const double angle = std::numbers::pi * static_cast<double>(frequency) *
                       (static_cast<double>(place) + 0.5) / static_cast<double>(length);
  return norm * std::cos(angle);
}

torch::Tensor make_filters(std::int64_t channels) {
  const std::vector<Frequencies> cosines = largest_cosines(channels);
  auto filters = torch::zeros({static_cast<std::int64_t>(cosines.size()), kSide, kSide, channels});
  auto values = filters.accessor<float, 4>();
  for (std::int64_t k = 0; k < filters.size(0); ++k) {
    const Frequencies& f = cosines[static_cast<std::size_t>(k)];
    for (std::int64_t y = 0; y < kSide; ++y) {
      for (std::int64_t x = 0; x < kSide; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          values[k][y][x][c] = static_cast<float>(cosine(f.y, y, kSide) * cosine(f.x, x, kSide) *
                                                  cosine(f.channel, c, channels) / amplitude(f));
        }
      }
    }
  }
  return filters;
}

/// The kernel's call, without the room for its answer.
cuda::FilterPatches describe_patches(const torch::Tensor& images, const torch::Tensor& filters) {
  return {.images = images.data_ptr(),
          .rows = images.size(0),
          .height = images.size(2),
          .width = images.size(3),
          .channels = images.size(1),
          .filters = filters.data_ptr<float>(),
          .count = filters.size(0),
          .element = images.scalar_type() == torch::kFloat ? cuda::Element::kFloat
                                                           : cuda::Element::kBfloat16};
}

}  // namespace

PatchCosines::PatchCosines(std::int64_t channels) : filters_(make_filters(channels)) {}

const torch::Tensor& PatchCosines::filters_for(const torch::Tensor& like) {
  if (!placed_.defined() || placed_.device() != like.device()) placed_ = filters_.to(like.device());
  return placed_;
}

torch::Tensor PatchCosines::forward(const torch::Tensor& images) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor& filters = filters_for(images);
  if (images.is_cuda()) {
    const torch::Tensor x = images.contiguous(torch::MemoryFormat::ChannelsLast);
    cuda::FilterPatches call = describe_patches(x, filters);
    if (cuda::can_filter_patches(call)) {
      torch::Tensor result =
          torch::empty({x.size(0), responses(), x.size(2), x.size(3)},
                       x.options().memory_format(torch::MemoryFormat::ChannelsLast));
      call.responses = result.data_ptr();
      cuda::filter_patches(call, tensors::current_stream());
      return result;
    }
  }
  const torch::Tensor both = torch::stack({filters, -filters}, 1).flatten(0, 1);
  const torch::Tensor weight = both.permute({0, 3, 1, 2}).to(images.scalar_type());
  return torch::conv2d(images, weight, {}, /*stride=*/1, /*padding=*/kSide / 2).relu_();
}

}  // namespace impart::models
