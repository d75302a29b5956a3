#pragma once

#include <span>
#include <string>
#include <vector>

#include "impart/importance/importance_table.h"

namespace impart::importance {

/// Saves a table with its whole state, every column with a checksum (docs/formats.md), complete or
/// not at all. IoError if it cannot be written.
void save_table(const std::string& path, const ImportanceTable& table);

/// The table as it was saved. DataError if the file is damaged, truncated or of another version, or
/// has a notion that is neither in kNotions nor among `own`.
ImportanceTable load_table(const std::string& path, const std::vector<AnyNotion>& own = {});

/// The same, to and from memory.
std::string table_bytes(const ImportanceTable& table);
ImportanceTable table_from_bytes(std::span<const std::byte> bytes,
                                 const std::vector<AnyNotion>& own = {});

}  // namespace impart::importance
