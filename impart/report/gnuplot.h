#pragma once

#include <span>
#include <string>

#include "impart/report/document.h"

namespace impart::report {

/// Draws all figures with one gnuplot process and gives each its `svg` and `narrow`: themed (it
/// takes the colour of the text around it), without ids, ready to stand in HTML.
///
/// Returns "" if all could be drawn, else why not: gnuplot is not there, or what it said. Figures
/// that could not be drawn keep an empty `svg`. IoError if there is no room for temporary files.
std::string draw_figures(std::span<Figure*> figures);

/// What gnuplot's SVG terminal wrote, made smaller and themed. `description` is for those who
/// cannot see the picture. "" if it is no picture that gnuplot began.
std::string theme_svg(const std::string& drawn, const std::string& description);

/// A themed picture as a file of its own: with colours for light and for dark surroundings.
std::string standalone_svg(const std::string& svg);

}  // namespace impart::report
