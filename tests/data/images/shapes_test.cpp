#include "impart/data/images/shapes.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/datasets.h"
#include "impart/data/images/shape_drawing.h"

namespace impart::data {
namespace {

using Image = std::array<std::uint8_t, kShapeImageBytes>;

ImageData shapes(std::uint64_t train, std::uint64_t test = 0, std::uint64_t seed = 7) {
  return load_data(
      {.name = "shapes", .seed = seed, .train_examples = train, .test_examples = test});
}

std::uint64_t fnv1a(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

TEST(Shapes, AreTheSameBytesOnEveryMachine) {
  EXPECT_EQ(fnv1a(shapes(500, 0, 1).train.pixels), 7492744434993368073u);
}

TEST(Shapes, DependOnTheirIndexAndNotOnTheSizeOfTheSet) {
  const ImageData small = shapes(50, 20), large = shapes(200, 60);
  EXPECT_TRUE(
      std::equal(small.train.pixels.begin(), small.train.pixels.end(), large.train.pixels.begin()));
  EXPECT_TRUE(
      std::equal(small.test.pixels.begin(), small.test.pixels.end(), large.test.pixels.begin()));
  EXPECT_TRUE(
      std::equal(small.train.labels.begin(), small.train.labels.end(), large.train.labels.begin()));
  EXPECT_TRUE(
      std::equal(small.train.truth.begin(), small.train.truth.end(), large.train.truth.begin()));
}

TEST(Shapes, DifferBetweenSeedsSplitsAndExamples) {
  Image a, b;
  draw_shape_example(1, Split::train, 0, a);
  draw_shape_example(2, Split::train, 0, b);
  EXPECT_NE(a, b);
  draw_shape_example(1, Split::test, 0, b);
  EXPECT_NE(a, b);
  draw_shape_example(1, Split::train, 1, b);
  EXPECT_NE(a, b);
  draw_shape_example(1, Split::train, std::uint64_t{1} << 32, b);
  EXPECT_NE(a, b);
}

TEST(Shapes, FillAWholeImageSet) {
  const ImageData data = shapes(300, 100);
  EXPECT_EQ(data.train.count, 300u);
  EXPECT_EQ(data.test.count, 100u);
  EXPECT_EQ(data.train.pixels.size(), 300u * 3 * 32 * 32);
  EXPECT_EQ(data.train.classes, 10u);
  EXPECT_EQ(data.train.class_names.size(), 10u);
  EXPECT_EQ(data.train.class_names[3], "diamond");
  EXPECT_EQ(data.train.truth.size(), 300u);
  EXPECT_EQ(data.test.mean, data.train.mean);
  EXPECT_EQ(data.test.std, data.train.std);
  const ChannelMoments moments = measure_channels(data.train);
  EXPECT_EQ(data.train.mean, moments.mean);
  EXPECT_EQ(data.train.std, moments.std);
}

TEST(Shapes, StopAtTheLimit) {
  EXPECT_EQ(load_data({.name = "shapes", .limit = 5, .train_examples = 9}).train.count, 5u);
  EXPECT_EQ(load_data({.name = "shapes", .limit = 50, .train_examples = 9}).train.count, 9u);
}

TEST(Shapes, NeedAtLeastOneExample) {
  EXPECT_THROW(load_data({.name = "shapes", .train_examples = 0}), ConfigError);
}

TEST(Shapes, HaveAllClassesEquallyOften) {
  std::array<int, kShapeClasses> counts{};
  for (const std::uint32_t label : shapes(5000).train.labels) ++counts[label];
  for (const int count : counts) EXPECT_NEAR(count, 500, 100);  // 4.7 standard deviations
}

TEST(Shapes, HaveAFixedShareOfWrongLabelsAndOnlyThoseAreHardest) {
  Image image;
  int wrong = 0;
  constexpr int kExamples = 6000;
  for (int i = 0; i < kExamples; ++i) {
    const ShapeFacts facts = draw_shape_example(3, Split::train, i, image);
    wrong += facts.label != facts.shape;
    ASSERT_EQ(facts.difficulty == 1.0f, facts.label != facts.shape);
  }
  EXPECT_NEAR(wrong, kWrongLabelShare * kExamples, 70);  // 4.1 standard deviations
}

TEST(Shapes, HaveRightLabelsInTheTestSet) {
  Image image;
  for (int i = 0; i < 1000; ++i) {
    const ShapeFacts facts = draw_shape_example(3, Split::test, i, image);
    ASSERT_EQ(facts.label, facts.shape);
  }
}

TEST(Shapes, HaveDifficultiesAllOverTheRange) {
  std::vector<float> truth = shapes(4000).train.truth;
  std::sort(truth.begin(), truth.end());
  EXPECT_GE(truth.front(), 0.0f);
  EXPECT_EQ(truth.back(), 1.0f);
  EXPECT_NEAR(truth[1000], 0.26f, 0.04f);
  EXPECT_NEAR(truth[2000], 0.52f, 0.04f);
  EXPECT_NEAR(truth[3000], 0.78f, 0.04f);
}

TEST(Shapes, AreHarderTheMoreThereIsAgainstThem) {
  Image image;
  for (int i = 0; i < 500; ++i) {
    const ShapeFacts facts = draw_shape_example(5, Split::test, i, image);
    const ShapeHardness& hardness = facts.hardness;
    const float levels[] = {hardness.noise, hardness.occlusion, hardness.contrast,
                            hardness.similarity};
    for (const float level : levels) {
      ASSERT_GE(level, 0.0f);
      ASSERT_LE(level, 1.0f);
      ASSERT_GE(facts.difficulty, 0.5f * level);
    }
    ASSERT_LE(facts.difficulty, std::accumulate(levels, levels + 4, 0.0f));
  }
}

/// A clean picture of one shape in the middle, red on black.
Image plain_picture(std::uint32_t shape, float similarity, float turn = 0.01f) {
  const ShapeScene scene{.outline = {.shape = shape,
                                     .similarity = similarity,
                                     .centre_x = 15.5f,
                                     .centre_y = 15.5f,
                                     .radius = 12,
                                     .turn = turn},
                         .contrast = {255, 0, 0}};
  RandomStream random({.purpose = Purpose("test")});
  Image image;
  draw_scene(scene, random, image);
  return image;
}

int distance(const Image& a, const Image& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

TEST(Shapes, ComeInPairsThatGrowAlike) {
  for (std::uint32_t shape = 0; shape < kShapeClasses; ++shape) {
    // Turned to opposite sides, since shapes that differ by a turn meet in the middle.
    const std::uint32_t other = shape ^ 1;
    const int apart = distance(plain_picture(shape, 0, 0.01f), plain_picture(other, 0, -0.01f));
    const int alike = distance(plain_picture(shape, 1, 0.01f), plain_picture(other, 1, -0.01f));
    EXPECT_LT(alike, 0.6 * apart) << shape_name(shape);
    EXPECT_GT(alike, 0) << shape_name(shape);
  }
}

TEST(Shapes, AreEachNearestToThemselves) {
  for (std::uint32_t shape = 0; shape < kShapeClasses; ++shape) {
    const Image drawn = plain_picture(shape, 0.5f);
    std::array<int, kShapeClasses> distances;
    for (std::uint32_t k = 0; k < kShapeClasses; ++k) {
      distances[k] = distance(drawn, plain_picture(k, 0));
    }
    EXPECT_EQ(std::min_element(distances.begin(), distances.end()) - distances.begin(), shape);
  }
}

TEST(Shapes, CoverTheAreaTheyShould) {
  const auto area = [](std::uint32_t shape) {
    const Image image = plain_picture(shape, 0, 0);
    return std::accumulate(image.begin(), image.begin() + 1024, 0) / 255.0 / (12 * 12);
  };
  EXPECT_NEAR(area(0), 3.1416, 0.03);                        // disc
  EXPECT_NEAR(area(1), 3.1416 * (1 - 0.62 * 0.62), 0.03);    // ring
  EXPECT_NEAR(area(2), 1.6 * 1.6, 0.03);                     // square
  EXPECT_NEAR(area(3), 1.6 * 1.6, 0.03);                     // diamond
  EXPECT_NEAR(area(4), 1.299, 0.03);                         // equilateral triangle
  EXPECT_NEAR(area(5), 1.299 * 0.2 / 0.5, 0.06);             // star
  EXPECT_NEAR(area(6), 2 * 1.9 * 0.54 - 0.54 * 0.54, 0.03);  // cross
  EXPECT_NEAR(area(8), 1.9 * 0.66, 0.03);                    // bar
}

}  // namespace
}  // namespace impart::data
