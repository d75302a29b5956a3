#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "impart/core/random.h"
#include "impart/data/images/shapes.h"

namespace impart::data {

/// Red, green, blue, 0..255 each; the difference of two may be negative.
using Colour = std::array<float, kShapeChannels>;

/// A shape in the plane of the picture, in pixels; (0, 0) is the centre of the first pixel.
struct ShapeOutline {
  std::uint32_t shape = 0;  ///< 0..kShapeClasses-1
  float similarity = 0;     ///< ShapeHardness::similarity
  float centre_x = 0, centre_y = 0;
  float radius = 1;  ///< of the circle that the shape just fills
  float turn = 0;    ///< tangent of half the angle by which it is turned, within ±0.04
};

/// Everything about a picture but its noise.
struct ShapeScene {
  ShapeOutline outline;
  Colour background{};          ///< at the middle of the picture
  Colour slope_x{}, slope_y{};  ///< change of the background per pixel
  Colour contrast{};            ///< the shape's colour less the background's
  Colour cover{};               ///< colour of the rectangle that covers a part of the shape
  /// That rectangle, in pixels; right and bottom are the first ones outside.
  int cover_left = 0, cover_right = 0, cover_top = 0, cover_bottom = 0;
  float noise = 0;  ///< largest deviation, in steps of 0..255; the noise is uniform
};

/// Renders the scene with smoothed edges; the noise is drawn from `random`, a byte per value.
void draw_scene(const ShapeScene& scene, RandomStream& random, std::span<std::uint8_t> pixels);

}  // namespace impart::data
