#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/file.h"
#include "impart/core/progress.h"

namespace impart {

/// The fields of a line. One in quotes may hold commas, and quotes as "". DataError if a quote is
/// not closed.
std::vector<std::string> split_csv_line(std::string_view line);

/// A text as a field that split_csv_line reads back. It must not have line breaks.
std::string csv_field(std::string_view text);

/// Reads column `column` of a CSV file whose `id` column holds 0..N-1, each once, in any order;
/// element i of the result belongs to id i. DataError names file and line. T: double or uint32_t.
template <class T>
std::vector<T> read_dense_csv(const InputFile& file, std::string_view column,
                              const Progress& progress);

/// The line of the first row with this id, counted from 1; 0 if there is none.
std::uint64_t find_csv_line(const InputFile& file, std::uint64_t id);

/// Reads a text of one whole number per line; element i of the result is line i + 1. DataError
/// names file and line, and what a number is called.
std::vector<std::uint32_t> read_integer_lines(const InputFile& file, std::string_view called);

extern template std::vector<double> read_dense_csv(const InputFile&, std::string_view,
                                                   const Progress&);
extern template std::vector<std::uint32_t> read_dense_csv(const InputFile&, std::string_view,
                                                          const Progress&);

}  // namespace impart
