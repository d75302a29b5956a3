#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "impart/core/random.h"
#include "impart/models/text/text_models.h"

namespace impart::testing {

/// Token ids from `first` up to the vocabulary, the same for the same number of the stream.
inline torch::Tensor random_tokens(at::IntArrayRef shape, std::int64_t vocabulary,
                                   std::uint32_t stream, std::int64_t first = 0) {
  torch::Tensor tensor = torch::empty(shape, torch::kLong);
  RandomStream random({.seed = 7, .purpose = Purpose("tokens"), .epoch = stream});
  auto* data = tensor.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = first + static_cast<std::int64_t>(
                          random.below(static_cast<std::uint64_t>(vocabulary - first)));
  }
  return tensor;
}

/// The rows of kTextModels that are quick to run.
inline std::vector<models::TextModelEntry> small_text_models() {
  std::vector<models::TextModelEntry> entries(std::begin(models::kTextModels),
                                              std::end(models::kTextModels));
  std::erase_if(entries, [](const auto& entry) { return entry.name == "gpt2-small"; });
  return entries;
}

inline bool is_language_model(std::string_view name) {
  return config::find_model_name(name)->task == data::kLanguage;
}

/// A row's name as GoogleTest takes it.
inline std::string test_name(const ::testing::TestParamInfo<models::TextModelEntry>& row) {
  std::string name(row.param.name);
  std::erase(name, '-');
  return name;
}

}  // namespace impart::testing
