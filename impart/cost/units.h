#pragma once

#include <string>
#include <string_view>

namespace impart::cost {

// Rates and durations as people write them.

/// Bytes per second: "2GB/s" are bytes, "25Gb/s" bits, "1.5GiB/s" has a prefix of 1024. A number
/// above 0, one of k K M G T (powers of 1000) or Ki Mi Gi Ti (of 1024) or none, b or B, "/s".
/// ConfigError says what was probably meant.
double parse_rate(std::string_view text);

/// Seconds of "250ms": a number, 0 or more, and ns, us, ms or s. ConfigError as above.
double parse_seconds(std::string_view text);

/// "0 s", "4.20 ms", "62.4 s", "18.0 min", "2.30 h": ASCII, at most 8 letters below a year.
std::string seconds_text(double seconds);

/// Of bytes per second: "25 Gb/s", "2.5 GB/s".
std::string bit_rate_text(double bytes);
std::string byte_rate_text(double bytes);

}  // namespace impart::cost
