#pragma once

#include <optional>
#include <string>

#include "impart/report/document.h"
#include "impart/statistics/comparison.h"
#include "impart/statistics/describe.h"

namespace impart::report {

// Numbers as a reader wants them, and cells that sort by their value.

/// Three decimals, or four digits from 1000 on; "–" for NaN.
std::string number_text(double value);
/// The same with a sign: "+0.084", "−0.274".
std::string difference_text(double value);
/// "82.983 ± 0.327"; without the spread for a single run.
std::string spread_text(const statistics::Description& values);
/// "0.043", "< 0.0001".
std::string p_text(double p);
/// "721.6 s", "2.6 ms", "1 h 12 min".
std::string seconds_text(double seconds);
/// "0 B", "1.5 MiB".
std::string bytes_text(double bytes);
/// "12 345".
std::string count_text(double count);

Cell text_cell(std::string text);
Cell count_cell(double value);
Cell number_cell(double value);
Cell spread_cell(const statistics::Description& values);
Cell seconds_cell(double value);
Cell bytes_cell(double value);
/// How a claim looks.
Cell::Tone tone_of(statistics::Claim claim);
/// "–", which sorts last.
Cell missing_cell();

}  // namespace impart::report
