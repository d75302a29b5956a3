#include "impart/data/images/shape_drawing.h"

#include <algorithm>
#include <cmath>

namespace impart::data {
namespace {

constexpr int kSide = kShapeSide;
constexpr std::size_t kPlane = std::size_t{kShapeSide} * kShapeSide;
using Plane = std::array<float, kPlane>;

template <class AnyPlane>
auto row_of(AnyPlane& plane, int y) {
  return plane.data() + std::ptrdiff_t{kSide} * y;
}

struct Rotation {
  float cosine, sine;
};

/// By the angle whose half has the tangent t: rational, so that no trigonometry is needed.
constexpr Rotation rotation_by(float t) {
  const float square = t * t;
  return {(1 - square) / (1 + square), 2 * t / (1 + square)};
}

constexpr Rotation compose(Rotation a, Rotation b) {
  return {a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}

constexpr Rotation kQuarterTurn = rotation_by(1.0f);
constexpr Rotation kEighthTurn = rotation_by(0.41421356f);

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
    float* const row = row_of(covered, y);
    for (int x = 0; x < kSide; ++x) {
      const float dx = (static_cast<float>(x) - outline.centre_x) * scale;
      const float u = rotation.cosine * dx + rotation.sine * dy;
      const float v = rotation.cosine * dy - rotation.sine * dx;
      const float pixels_inside = inside(u, v) * outline.radius;
      row[x] = std::min(std::max(0.5f + pixels_inside, 0.0f), 1.0f);
    }
  }
}

/// The shape's own turn, and on top of it, to the same side, one that grows with similarity up to
/// `most` (a half-angle tangent).
Rotation turn_up_to(float most, const ShapeOutline& outline) {
  const float more = outline.turn < 0 ? -most : most;
  return compose(rotation_by(outline.turn), rotation_by(more * outline.similarity));
}
Rotation upright(const ShapeOutline& outline) {
  return turn_up_to(0, outline);
}
Rotation tilted(const ShapeOutline& outline) {
  return turn_up_to(0.15f, outline);  // 17 degrees; the middle of an eighth of a turn is 22.5
}
Rotation slanted(const ShapeOutline& outline) {
  return turn_up_to(0.35f, outline);  // 39 degrees; the middle of a quarter is 45
}

constexpr Rectangle kSquare{0.8f, 0.8f}, kBar{0.95f, 0.33f};

/// How a class covers the pixels.
using Cover = void(const ShapeOutline& outline, Plane& covered);

struct ShapeKind {
  std::string_view name;
  Cover* cover;
};

// One row a class; those of a pair, 2k and 2k + 1, are neighbours. At similarity 1 either stays
// just short of the middle between the two.
constexpr ShapeKind kShapes[] = {
    {"circle",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, upright(it), Annulus{0.37f * it.similarity - 0.1f}, covered);
     }},
    {"ring",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, upright(it), Annulus{0.62f - 0.3f * it.similarity}, covered);
     }},
    {"square", [](const ShapeOutline& it,
                  Plane& covered) { cover_pixels(it, tilted(it), kSquare, covered); }},
    {"diamond",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, compose(kEighthTurn, tilted(it)), kSquare, covered);
     }},
    {"triangle",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, upright(it), ThreeTips{0.5f - 0.14f * it.similarity}, covered);
     }},
    {"star",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, upright(it), ThreeTips{0.2f + 0.14f * it.similarity}, covered);
     }},
    {"cross", [](const ShapeOutline& it,
                 Plane& covered) { cover_pixels(it, tilted(it), Cross{}, covered); }},
    {"saltire",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, compose(kEighthTurn, tilted(it)), Cross{}, covered);
     }},
    {"bar-horizontal",
     [](const ShapeOutline& it, Plane& covered) { cover_pixels(it, slanted(it), kBar, covered); }},
    {"bar-vertical",
     [](const ShapeOutline& it, Plane& covered) {
       cover_pixels(it, compose(kQuarterTurn, slanted(it)), kBar, covered);
     }},
};
static_assert(std::size(kShapes) == kShapeClasses);

void paint_channel(const ShapeScene& scene, std::size_t channel, const Plane& covered,
                   Plane& plane) {
  constexpr float kMiddle = (kSide - 1) / 2.0f;
  for (int y = 0; y < kSide; ++y) {
    const float middle =
        scene.background[channel] + scene.slope_y[channel] * (static_cast<float>(y) - kMiddle);
    const float* const covered_row = row_of(covered, y);
    float* const row = row_of(plane, y);
    for (int x = 0; x < kSide; ++x) {
      row[x] = middle + scene.slope_x[channel] * (static_cast<float>(x) - kMiddle) +
               covered_row[x] * scene.contrast[channel];
    }
  }
  for (int y = scene.cover_top; y < scene.cover_bottom; ++y) {
    float* const row = row_of(plane, y);
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
    pixels[i] = static_cast<std::uint8_t>(std::min(std::max(value + 0.5f, 0.0f), 255.0f));
  }
}

}  // namespace

std::string_view shape_name(std::uint32_t shape) {
  return kShapes[shape].name;
}

void draw_scene(const ShapeScene& scene, RandomStream& random, std::span<std::uint8_t> pixels) {
  Plane covered, plane;
  kShapes[scene.outline.shape].cover(scene.outline, covered);
  for (std::size_t channel = 0; channel < kShapeChannels; ++channel) {
    paint_channel(scene, channel, covered, plane);
    add_noise(scene.noise, random, plane, pixels.subspan(channel * kPlane, kPlane));
  }
}

}  // namespace impart::data
