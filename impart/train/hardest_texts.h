#pragma once

#include <cstddef>
#include <vector>

#include "impart/data/token_set.h"
#include "impart/importance/importance_table.h"
#include "impart/models/classifier.h"
#include "impart/train/text_file.h"

namespace impart {

/// The `count` hardest and easiest training examples by each of the notions, with their texts.
std::vector<TextRecord> choose_texts(const ImportanceTable& table,
                                     const std::vector<NotionEntry>& notions, const TextData& data,
                                     std::size_t count);

/// Adds the losses of their single tokens under the model as it is; of texts with classes, which
/// predict no tokens, nothing.
void add_token_losses(Classifier& model, const TextData& data, std::vector<TextRecord>& texts);

}  // namespace impart
