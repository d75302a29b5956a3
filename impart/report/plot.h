#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impart::report {

// Pieces of gnuplot scripts. Colours are mid-tones that show on white and on black; what is drawn
// in "black" takes the colour of the text around the picture.

/// The colour of the i-th series; the baseline has a grey of its own.
std::string_view series_colour(std::size_t i);
inline constexpr std::string_view kBaselineColour = "#7a8490";

/// From wrong to right, in five steps.
inline constexpr std::string_view kScaleColours[] = {"#d1495b", "#e08a4a", "#c9a227", "#5fa777",
                                                     "#3b7dd8"};

/// A named block of data: one line per row, numbers separated by blanks. NaN becomes a gap.
std::string data_block(std::string_view name, const std::vector<std::vector<double>>& rows);

/// Undoes what an earlier figure of the same process has set, and sets the common style.
std::string figure_start();

/// A name at a position of an axis, for "set xtics (…)": there, unlike elsewhere, % is special.
std::string tic_label(std::string_view name, double position, std::size_t most);

/// "set xlabel …; set ylabel …".
std::string axis_labels(std::string_view x, std::string_view y);

}  // namespace impart::report
