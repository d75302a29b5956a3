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

extern template std::vector<double> read_dense_csv(const InputFile&, std::string_view,
                                                   const Progress&);
extern template std::vector<std::uint32_t> read_dense_csv(const InputFile&, std::string_view,
                                                          const Progress&);

}  // namespace impart
