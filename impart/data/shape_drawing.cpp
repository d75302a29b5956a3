#include "impart/data/shape_drawing.h"

#include <algorithm>
#include <cmath>

namespace impart {
namespace {

constexpr int kSide = kShapeSide;
constexpr std::size_t kPlane = std::size_t{kShapeSide} * kShapeSide;
using Plane = std::array<float, kPlane>;

struct Rotation {
  float cosine, sine;
};

Rotation rotation_by(float t) {
  const float square = t * t;
  return {(1 - square) / (1 + square), 2 * t / (1 + square)};
}

Rotation compose(Rotation a, Rotation b) {
  return {a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

// tan(angle / 2) of an eighth, a sixteenth and a quarter of a full turn.
constexpr float kEighthTurn = 0.41421356f;
constexpr float kSixteenthTurn = 0.19891237f;
constexpr float kQuarterTurn = 1.0f;

// A shape is a function of a point (u, v) in its own frame, in units of its radius: how far the
// point lies inside, negative outside. Near the edge that is the distance to the edge.

/// A disc without its middle; a negative hole is none.
struct Annulus {
  float hole;
  float operator()(float u, float v) const {
    const float distance = std::sqrt(u * u + v * v);
    return std::min(1 - distance, distance - hole);
  }
};

struct Rectangle {
  float half_width, half_height;
  float operator()(float u, float v) const {
    return std::min(half_width - std::abs(u), half_height - std::abs(v));
  }
};

/// Two bars across each other.
struct Cross {
  float operator()(float u, float v) const {
    constexpr Rectangle bar{0.95f, 0.27f};
    return std::max(bar(u, v), bar(v, u));
  }
};

/// Three tips at distance 1 and between them three notches at distance `notch`: 0.5 makes it a
/// triangle, less a star. Folded by its symmetry it is one half-plane: the one below the line from
/// a tip to the notch beside it, 60 degrees away.
struct ThreeTips {
  float notch;
  float operator()(float u, float v) const {
    constexpr float kCos60 = 0.5f, kSin60 = 0.8660254f;
    const float slanted = kSin60 * std::abs(u);
    const bool upper = -v >= slanted + kCos60 * v;  // nearest tip: up, or down at either side
    const float along = upper ? -v : slanted + kCos60 * v;
    const float across = upper ? std::abs(u) : std::abs(kCos60 * std::abs(u) - kSin60 * v);
    const float rise = kSin60 * notch, run = 1 - kCos60 * notch;
    const float length = std::sqrt(rise * rise + run * run);
    return (rise * (1 - along) - run * across) / length;
  }
};

/// How much of each pixel the shape covers, 0..1, for a shape turned by `rotation`.
template <class Inside>
void cover_pixels(const ShapeOutline& outline, Rotation rotation, Inside inside, Plane& covered) {
  const float scale = 1 / outline.radius;
  for (int y = 0; y < kSide; ++y) {
    const float dy = (static_cast<float>(y) - outline.centre_y) * scale;
    for (int x = 0; x < kSide; ++x) {
      const float dx = (static_cast<float>(x) - outline.centre_x) * scale;
      const float u = rotation.cosine * dx + rotation.sine * dy;
      const float v = rotation.cosine * dy - rotation.sine * dx;
      const float pixels_inside = inside(u, v) * outline.radius;
      covered[static_cast<std::size_t>(y * kSide + x)] =
          std::min(std::max(0.5f + pixels_inside, 0.0f), 1.0f);
    }
  }
}

/// Turns by `most` as similarity goes to 1, on top of the turn the outline has, to the same side.
Rotation turn_towards_other(const ShapeOutline& outline, float most) {
  const float more = outline.turn < 0 ? -most : most;
  return compose(rotation_by(outline.turn), rotation_by(more * outline.similarity));
}

void cover_pixels(const ShapeOutline& outline, Plane& covered) {
  // A shape at similarity 1 stays just short of the middle between the two classes.
  const float s = outline.similarity;
  const Rotation own = rotation_by(outline.turn);
  const Rotation eighth = rotation_by(kEighthTurn), quarter = rotation_by(kQuarterTurn);
  const Rotation towards_sixteenth = turn_towards_other(outline, 0.75f * kSixteenthTurn);
  const Rotation towards_eighth = turn_towards_other(outline, 0.75f * kEighthTurn);
  constexpr Rectangle square{0.8f, 0.8f}, bar{0.95f, 0.33f};
  switch (outline.shape) {
    case 0:
      return cover_pixels(outline, own, Annulus{0.34f * s - 0.1f}, covered);
    case 1:
      return cover_pixels(outline, own, Annulus{0.62f - 0.32f * s}, covered);
    case 2:
      return cover_pixels(outline, towards_sixteenth, square, covered);
    case 3:
      return cover_pixels(outline, compose(eighth, towards_sixteenth), square, covered);
    case 4:
      return cover_pixels(outline, own, ThreeTips{0.5f - 0.13f * s}, covered);
    case 5:
      return cover_pixels(outline, own, ThreeTips{0.2f + 0.13f * s}, covered);
    case 6:
      return cover_pixels(outline, towards_sixteenth, Cross{}, covered);
    case 7:
      return cover_pixels(outline, compose(eighth, towards_sixteenth), Cross{}, covered);
    case 8:
      return cover_pixels(outline, towards_eighth, bar, covered);
    default:
      return cover_pixels(outline, compose(quarter, towards_eighth), bar, covered);
  }
}

void paint_channel(const ShapeScene& scene, std::size_t channel, const Plane& covered,
                   Plane& plane) {
  constexpr float kMiddle = (kSide - 1) / 2.0f;
  for (int y = 0; y < kSide; ++y) {
    const float row =
        scene.background[channel] + scene.slope_y[channel] * (static_cast<float>(y) - kMiddle);
    for (int x = 0; x < kSide; ++x) {
      const auto at = static_cast<std::size_t>(y * kSide + x);
      plane[at] = row + scene.slope_x[channel] * (static_cast<float>(x) - kMiddle) +
                  covered[at] * scene.contrast[channel];
    }
  }
  for (int y = scene.cover_top; y < scene.cover_bottom; ++y) {
    const auto row = plane.begin() + y * kSide;
    std::fill(row + scene.cover_left, row + scene.cover_right, scene.cover[channel]);
  }
}

void add_noise(float amplitude, RandomStream& random, const Plane& plane,
               std::span<std::uint8_t> pixels) {
  std::array<std::uint8_t, kPlane> bytes;
  for (std::size_t i = 0; i < kPlane; i += 4) {
    const std::uint32_t word = random.next32();
    for (std::size_t k = 0; k < 4; ++k) bytes[i + k] = static_cast<std::uint8_t>(word >> 8 * k);
  }
  const float step = amplitude / 127.5f;
  for (std::size_t i = 0; i < kPlane; ++i) {
    const float value = plane[i] + (static_cast<float>(bytes[i]) - 127.5f) * step;
    pixels[i] = static_cast<std::uint8_t>(std::min(std::max(value, 0.0f), 255.0f) + 0.5f);
  }
}

}  // namespace

void draw_scene(const ShapeScene& scene, RandomStream& random, std::span<std::uint8_t> pixels) {
  Plane covered, plane;
  cover_pixels(scene.outline, covered);
  for (std::size_t channel = 0; channel < kShapeChannels; ++channel) {
    paint_channel(scene, channel, covered, plane);
    add_noise(scene.noise, random, plane, pixels.subspan(channel * kPlane, kPlane));
  }
}

}  // namespace impart
