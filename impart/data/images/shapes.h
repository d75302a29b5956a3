#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace impart::data {

/// The built-in data set: images of 32×32×3 bytes, each with one shape of random colour, place,
/// size and turn, on a random background. It needs no files, has any size, and knows how hard each
/// example is, so that an importance notion can be compared with the truth.
///
/// Example i depends on nothing but (seed, split, i): it is the same whatever the size of the set,
/// and the same bytes on every machine. Only IEEE +, -, *, / and sqrt are used.

inline constexpr std::uint32_t kShapeSide = 32;
inline constexpr std::uint32_t kShapeChannels = 3;
inline constexpr std::uint32_t kShapeImageBytes = kShapeChannels * kShapeSide * kShapeSide;

/// The classes. 2k and 2k + 1 are alike: each can be drawn so that it nearly becomes the other.
inline constexpr std::uint32_t kShapeClasses = 10;
std::string_view shape_name(std::uint32_t shape);  ///< "circle", "ring", …; shape < kShapeClasses

/// The share of training examples that carry a wrong label. Test labels are all right.
inline constexpr double kWrongLabelShare = 0.05;

enum class Split : std::uint32_t { train, test };

/// What makes a picture hard, each from 0 (not at all) to 1.
struct ShapeHardness {
  float noise = 0;       ///< pixel noise
  float occlusion = 0;   ///< how much of the shape another surface covers
  float contrast = 0;    ///< how little the shape's colour differs from the background's
  float similarity = 0;  ///< how far it is drawn towards the class that is like its own
};

/// What is known of an example without looking at its pixels.
struct ShapeFacts {
  std::uint32_t shape = 0;  ///< what is drawn
  std::uint32_t label = 0;  ///< what the data set says it is: another class if the label is wrong
  ShapeHardness hardness;
  /// From 0 to 1: the sum of the four kinds of hardness over the largest there is, so that right
  /// labels are nearly uniform in 0..1; 1 if and only if the label is wrong.
  float difficulty = 0;
};

/// Draws example `index` into `pixels` (kShapeImageBytes of them, planes red, green, blue) and says
/// what it is. A few tens of microseconds.
ShapeFacts draw_shape_example(std::uint64_t seed, Split split, std::uint64_t index,
                              std::span<std::uint8_t> pixels);

}  // namespace impart::data
