#pragma once

#include <fmt/format.h>

namespace impart::cli {

template <class Row, std::size_t N>
void print_table(const Row (&table)[N]) {
  for (const Row& row : table) fmt::print("  {:<20} {}\n", row.name, row.summary);
}

/// The tables of the training engine; they print nothing where it was not built.
void list_datasets();
void list_augmentations();
void list_models();
void list_tokenizers();

}  // namespace impart::cli
