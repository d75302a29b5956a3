#pragma once

#include <cstddef>
#include <vector>

#include "impart/data/text/token_set.h"
#include "impart/importance/importance_table.h"
#include "impart/models/classifier.h"
#include "impart/run/text_file.h"

namespace impart::train {

/// The `count` hardest and easiest training examples by each of the notions, with their texts.
std::vector<run::TextRecord> choose_texts(const importance::ImportanceTable& table,
                                          const std::vector<importance::AnyNotion>& notions,
                                          const data::TextData& data, std::size_t count);

/// Adds the losses of their single tokens under the model as it is; of texts with classes, which
/// predict no tokens, nothing.
void add_token_losses(models::Classifier& model, const data::TextData& data,
                      std::vector<run::TextRecord>& texts);

}  // namespace impart::train
