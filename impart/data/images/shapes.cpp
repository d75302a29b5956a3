#include "impart/data/images/shapes.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/data/images/datasets.h"
#include "impart/data/images/shape_drawing.h"
#include "impart/data/payloads/raw_decoder.h"

namespace impart::data {
namespace {

double between(RandomStream& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

float float_between(RandomStream& random, double low, double high) {
  return static_cast<float>(between(random, low, high));
}

/// The stream of one example: its index takes the place of the worker, and of the epoch for what
/// does not fit.
RandomStream shape_stream(std::uint64_t seed, Split split, std::uint64_t index) {
  return RandomStream({.seed = seed,
                       .purpose = Purpose(split == Split::train ? "shapes-train" : "shapes-test"),
                       .epoch = static_cast<std::uint32_t>(index >> 32),
                       .worker = WorkerId{static_cast<std::uint32_t>(index)}});
}

// The four kinds of hardness share a budget that is uniform between nothing and this much; with
// random shares a picture is hard for one reason, or a little for several.
constexpr double kLargestBudget = 1.8;

ShapeHardness draw_hardness(RandomStream& random) {
  const double budget = kLargestBudget * random.uniform();
  double shares[4];
  for (double& share : shares) share = random.open_uniform();
  const double sum = shares[0] + shares[1] + shares[2] + shares[3];
  const auto level = [&](int k) {
    return static_cast<float>(std::min(1.0, budget * shares[k] / sum));
  };
  return {.noise = level(0), .occlusion = level(1), .contrast = level(2), .similarity = level(3)};
}

float difficulty_of(const ShapeHardness& hardness) {
  const float sum = hardness.noise + hardness.occlusion + hardness.contrast + hardness.similarity;
  return std::min(sum / static_cast<float>(kLargestBudget), 1.0f) * 0.999f;
}

void draw_colours(const ShapeHardness& hardness, RandomStream& random, ShapeScene& scene) {
  const double contrast = 115 - 83 * hardness.contrast;
  for (std::size_t channel = 0; channel < kShapeChannels; ++channel) {
    const double background = between(random, 30, 225);
    const double difference = contrast * between(random, 0.6, 1.0);
    scene.background[channel] = static_cast<float>(background);
    scene.contrast[channel] = static_cast<float>(background < 128 ? difference : -difference);
    scene.slope_x[channel] = float_between(random, -1, 1);
    scene.slope_y[channel] = float_between(random, -1, 1);
    scene.cover[channel] = float_between(random, 30, 225);
  }
}

/// A rectangle over the shape from one of its four sides.
void draw_cover(float occlusion, RandomStream& random, ShapeScene& scene) {
  const ShapeOutline& outline = scene.outline;
  const auto pixel = [](float at) {
    return static_cast<int>(std::clamp(at + 0.5f, 0.0f, static_cast<float>(kShapeSide)));
  };
  const float left = outline.centre_x - outline.radius, right = outline.centre_x + outline.radius;
  const float top = outline.centre_y - outline.radius, bottom = outline.centre_y + outline.radius;
  const float depth = 1.1f * outline.radius * occlusion;
  scene.cover_left = pixel(left);
  scene.cover_right = pixel(right + 1);
  scene.cover_top = pixel(top);
  scene.cover_bottom = pixel(bottom + 1);
  switch (random.below(4)) {
    case 0:
      scene.cover_right = pixel(left + depth);
      break;
    case 1:
      scene.cover_left = pixel(right + 1 - depth);
      break;
    case 2:
      scene.cover_bottom = pixel(top + depth);
      break;
    default:
      scene.cover_top = pixel(bottom + 1 - depth);
      break;
  }
}

ShapeScene draw_scene_plan(std::uint32_t shape, const ShapeHardness& hardness,
                           RandomStream& random) {
  const double radius = between(random, 8, 12);
  const double margin = kShapeSide - 1 - radius;
  ShapeScene scene{.outline = {.shape = shape,
                               .similarity = hardness.similarity,
                               .centre_x = float_between(random, radius, margin),
                               .centre_y = float_between(random, radius, margin),
                               .radius = static_cast<float>(radius),
                               .turn = float_between(random, -0.04, 0.04)},
                   .noise = 6 + 84 * hardness.noise};
  draw_colours(hardness, random, scene);
  draw_cover(hardness.occlusion, random, scene);
  return scene;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (std::uint32_t shape = 0; shape < kShapeClasses; ++shape) {
    names.emplace_back(shape_name(shape));
  }
  return names;
}

ImageSet make_split(const DataSpec& spec, Split split, std::uint64_t count) {
  ImageSet set{.count = count,
               .channels = kShapeChannels,
               .height = kShapeSide,
               .width = kShapeSide,
               .classes = kShapeClasses,
               .class_names = shape_names()};
  set.pixels.resize(count * kShapeImageBytes);
  set.labels.resize(count);
  set.truth.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto image = std::span(set.pixels).subspan(i * kShapeImageBytes, kShapeImageBytes);
    const ShapeFacts facts = draw_shape_example(spec.seed, split, i, image);
    set.labels[i] = facts.label;
    set.truth[i] = facts.difficulty;
  }
  return set;
}

/// Draws an example when it is read.
class ShapeSource final : public PayloadSource {
 public:
  ShapeSource(std::uint64_t seed, Split split, std::uint64_t examples)
      : seed_(seed), split_(split), examples_(examples) {}

  std::uint64_t examples() const override { return examples_; }
  std::uint64_t payload_bytes(ExampleId) const override { return kShapeImageBytes; }

  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    if (index(id) >= examples_ || payload.size() != kShapeImageBytes) {
      throw Error(fmt::format("shapes: example {} of {} into {} bytes", index(id), examples_,
                              payload.size()));
    }
    draw_shape_example(seed_, split_, index(id),
                       {reinterpret_cast<std::uint8_t*>(payload.data()), payload.size()});
    return 0;
  }

  std::string describe(ExampleId id) const override {
    return fmt::format("shapes, {} image {}", split_ == Split::train ? "training" : "test",
                       index(id));
  }

 private:
  std::uint64_t seed_;
  Split split_;
  std::uint64_t examples_;
};

/// Draws all examples once, for their labels and moments, and keeps none.
ExampleSet open_split(const DataSpec& spec, Split split, std::uint64_t count) {
  ExampleSet set{.payloads = std::make_shared<ShapeSource>(spec.seed, split, count),
                 .decoder = make_raw_decoder(kShapeImageBytes),
                 .channels = kShapeChannels,
                 .height = kShapeSide,
                 .width = kShapeSide,
                 .classes = kShapeClasses,
                 .class_names = shape_names()};
  set.labels.reserve(count);
  set.truth.reserve(count);
  ChannelSums sums(kShapeChannels, kShapeSide * kShapeSide);
  std::array<std::uint8_t, kShapeImageBytes> image;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ShapeFacts facts = draw_shape_example(spec.seed, split, i, image);
    set.labels.push_back(facts.label);
    set.truth.push_back(facts.difficulty);
    sums.add(image);
  }
  ChannelMoments moments = sums.moments();
  set.mean = std::move(moments.mean);
  set.std = std::move(moments.std);
  return set;
}

std::uint64_t wanted_examples(const DataSpec& spec) {
  if (spec.train_examples == 0) throw ConfigError("data.train_examples must be at least 1");
  return spec.limit == 0 ? spec.train_examples : std::min(spec.limit, spec.train_examples);
}

}  // namespace

ShapeFacts draw_shape_example(std::uint64_t seed, Split split, std::uint64_t index,
                              std::span<std::uint8_t> pixels) {
  RandomStream random = shape_stream(seed, split, index);
  ShapeFacts facts;
  facts.shape = static_cast<std::uint32_t>(random.below(kShapeClasses));
  const bool wrong = random.uniform() < kWrongLabelShare && split == Split::train;
  const auto other = static_cast<std::uint32_t>(random.below(kShapeClasses - 1));
  facts.label = wrong ? (facts.shape + 1 + other) % kShapeClasses : facts.shape;
  facts.hardness = draw_hardness(random);
  facts.difficulty = wrong ? 1.0f : difficulty_of(facts.hardness);
  draw_scene(draw_scene_plan(facts.shape, facts.hardness, random), random, pixels);
  return facts;
}

ImageData make_shapes(const DataSpec& spec) {
  ImageData data{.train = make_split(spec, Split::train, wanted_examples(spec)),
                 .test = make_split(spec, Split::test, spec.test_examples)};
  ChannelMoments moments = measure_channels(data.train);
  data.test.mean = moments.mean;
  data.test.std = moments.std;
  data.train.mean = std::move(moments.mean);
  data.train.std = std::move(moments.std);
  return data;
}

ExampleData open_shapes(const DataSpec& spec) {
  ExampleData data{.train = open_split(spec, Split::train, wanted_examples(spec)),
                   .test = open_split(spec, Split::test, spec.test_examples)};
  data.test.mean = data.train.mean;
  data.test.std = data.train.std;
  return data;
}

}  // namespace impart::data
