#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "impart/core/file.h"
#include "impart/core/progress.h"

namespace impart {

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
