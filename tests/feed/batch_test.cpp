#include "impart/feed/batch.h"

#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::feed {
namespace {

data::ImageSet random_images(std::uint64_t count, std::uint32_t channels, std::uint32_t height,
                             std::uint32_t width) {
  data::ImageSet set{
      .count = count, .channels = channels, .height = height, .width = width, .classes = 10};
  RandomStream random({.seed = 4, .purpose = Purpose("test images")});
  for (std::uint64_t k = 0; k < count * set.image_bytes(); ++k) {
    set.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  for (std::uint64_t k = 0; k < count; ++k)
    set.labels.push_back(static_cast<std::uint32_t>(k % 10));
  for (std::uint32_t c = 0; c < channels; ++c) {
    set.mean.push_back(0.4f + 0.1f * static_cast<float>(c));
    set.std.push_back(0.2f + 0.05f * static_cast<float>(c));
  }
  return set;
}

/// Pads with zeros, cuts out, mirrors, normalises: one pixel at a time, as it is defined.
float naive_value(const data::ImageSet& set, std::uint64_t image, const data::CropFlip& choice,
                  std::uint32_t channel, int y, int x) {
  const int height = static_cast<int>(set.height), width = static_cast<int>(set.width);
  const int from_y = y + choice.down;
  const int from_x = (choice.mirrored ? width - 1 - x : x) + choice.right;
  const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
  const auto at = static_cast<std::size_t>((static_cast<int>(channel) * height + from_y) * width);
  const std::uint8_t pixel = inside ? set.image(image)[at + static_cast<std::size_t>(from_x)] : 0;
  return (static_cast<float>(pixel) / 255.0f - set.mean[channel]) / set.std[channel];
}

at::Tensor naive_batch(const data::ImageSet& set, const std::vector<std::int64_t>& ids,
                       const data::AugmentPlan& plan) {
  at::Tensor batch =
      at::empty({static_cast<std::int64_t>(ids.size()), set.channels, set.height, set.width});
  float* out = batch.data_ptr<float>();
  for (const std::int64_t id : ids) {
    const auto image = static_cast<std::uint64_t>(id);
    const data::CropFlip choice =
        plan.empty() ? data::CropFlip{} : data::unpack_crop_flip(plan[image]);
    for (std::uint32_t channel = 0; channel < set.channels; ++channel) {
      for (int y = 0; y < static_cast<int>(set.height); ++y) {
        for (int x = 0; x < static_cast<int>(set.width); ++x) {
          *out++ = naive_value(set, image, choice, channel, y, x);
        }
      }
    }
  }
  return batch;
}

void expect_naive_batch(const data::ImageSet& set, const std::vector<std::int64_t>& ids,
                        const data::AugmentPlan& plan) {
  const DeviceImages images = put_on_device(set, at::kCPU);
  const at::Tensor wanted = at::tensor(ids), choices = put_on_device(plan, at::kCPU);
  const at::Tensor expected = naive_batch(set, ids, plan);
  EXPECT_TRUE(at::equal(make_batch(images, wanted, choices), expected));
  EXPECT_TRUE(
      at::allclose(make_batch_from_operations(images, wanted, choices), expected, 1e-5, 1e-6));
}

/// Every shift up to `padding` both ways, mirrored and not.
data::AugmentPlan all_choices(int padding) {
  data::AugmentPlan plan;
  for (int down = -padding; down <= padding; ++down) {
    for (int right = -padding; right <= padding; ++right) {
      for (const bool mirrored : {false, true}) {
        plan.push_back(data::pack({.right = right, .down = down, .mirrored = mirrored}));
      }
    }
  }
  return plan;
}

std::vector<std::int64_t> all_ids(const data::AugmentPlan& plan) {
  std::vector<std::int64_t> ids(plan.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(Batch, MatchesTheNaiveVersionForAllChoices) {
  const data::AugmentPlan plan = all_choices(4);
  expect_naive_batch(random_images(plan.size(), 3, 32, 32), all_ids(plan), plan);
}

TEST(Batch, HandlesImagesThatAreNotSquare) {
  const data::AugmentPlan plan = all_choices(2);
  expect_naive_batch(random_images(plan.size(), 1, 5, 7), all_ids(plan), plan);
  expect_naive_batch(random_images(plan.size(), 2, 7, 5), all_ids(plan), plan);
}

TEST(Batch, IsOnlyBorderWhenShiftedOutOfSight) {
  const data::AugmentPlan plan = all_choices(6);
  expect_naive_batch(random_images(plan.size(), 1, 4, 3), all_ids(plan), plan);
}

TEST(Batch, TakesExamplesInAnyOrderAndMoreThanOnce) {
  const data::AugmentPlan plan = data::crop_and_flip({.seed = 1, .examples = 20});
  expect_naive_batch(random_images(20, 3, 8, 8), {19, 0, 7, 7, 3}, plan);
}

TEST(Batch, WithoutAPlanOnlyNormalises) {
  expect_naive_batch(random_images(10, 3, 8, 8), {4, 2, 9}, {});
}

TEST(Batch, MayBeEmpty) {
  const DeviceImages images = put_on_device(random_images(3, 3, 8, 8), at::kCPU);
  const at::Tensor none = at::empty({0}, at::kLong);
  EXPECT_EQ(make_batch(images, none).sizes(), (std::vector<std::int64_t>{0, 3, 8, 8}));
}

TEST(Batch, DoesNotDependOnTheOtherExamplesInIt) {
  const data::ImageSet set = random_images(30, 3, 8, 8);
  const DeviceImages images = put_on_device(set, at::kCPU);
  const at::Tensor plan = put_on_device(data::crop_and_flip({.seed = 1, .examples = 30}), at::kCPU);
  const at::Tensor whole = make_batch(images, at::arange(30, at::kLong), plan);
  const at::Tensor alone = make_batch(images, at::tensor(std::vector<std::int64_t>{17}), plan);
  EXPECT_TRUE(at::equal(whole[17], alone[0]));
}

TEST(Batch, RejectsExamplesThatDoNotExist) {
  const DeviceImages images = put_on_device(random_images(3, 1, 4, 4), at::kCPU);
  EXPECT_THROW(make_batch(images, at::tensor(std::vector<std::int64_t>{0, 3})), Error);
  EXPECT_THROW(make_batch(images, at::tensor(std::vector<std::int64_t>{-1})), Error);
}

TEST(Batch, RejectsTensorsOfTheWrongKind) {
  const DeviceImages images = put_on_device(random_images(3, 1, 4, 4), at::kCPU);
  const at::Tensor ids = at::arange(2, at::kLong);
  EXPECT_THROW(make_batch(images, at::arange(2, at::kInt)), Error);
  EXPECT_THROW(make_batch(images, ids, at::zeros({2}, at::kInt)), Error);
  EXPECT_THROW(make_batch(images, ids, at::zeros({3}, at::kLong)), Error);
}

TEST(DeviceImages, CarryLabelsAndOwnTheirPixels) {
  data::ImageSet set = random_images(12, 1, 4, 4);
  const DeviceImages images = put_on_device(set, at::kCPU);
  EXPECT_EQ(images.labels.size(0), 12);
  EXPECT_EQ(images.labels[11].item<std::int64_t>(), 1);
  const auto before = images.pixels[0][0][0][0].item<int>();
  set.pixels[0] = static_cast<std::uint8_t>(before + 1);
  EXPECT_EQ(images.pixels[0][0][0][0].item<int>(), before);
}

}  // namespace
}  // namespace impart::feed
