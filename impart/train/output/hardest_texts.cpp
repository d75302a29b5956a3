#include "impart/train/output/hardest_texts.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/models/losses.h"
#include "impart/placement/ranking.h"

namespace impart::train {
namespace {

run::TextRecord record_of(const data::TextData& data, ExampleId id) {
  const data::TokenSet& set = data.train;
  run::TextRecord record;
  record.id = index(id);
  record.text = data::text_of(set, data.tokenizer.get(), id);
  if (index(id) < set.origins.size() && !set.files.empty()) {
    const data::TextOrigin& origin = set.origins[index(id)];
    record.file = set.files[origin.file];
    record.offset = origin.offset;
  }
  if (!set.is_corpus()) {
    const std::uint32_t label = set.labels[index(id)];
    record.label = label < set.class_names.size() ? set.class_names[label] : fmt::to_string(label);
  }
  return record;
}

/// Losses of the targets of one block.
torch::Tensor losses_of_block(models::Classifier& model, std::span<const data::Token> tokens) {
  const auto device = model.parameters().front().device();
  const std::vector<std::int64_t> numbers(tokens.begin(), tokens.end());
  const auto row = torch::tensor(numbers, torch::kInt64).to(device).unsqueeze(0);
  const std::int64_t targets = row.size(1) - 1;
  const auto logits = model.forward(row.narrow(1, 0, targets)).logits;
  return models::token_losses(logits, row.narrow(1, 1, targets)).squeeze(0).to(torch::kCPU);
}

std::string piece_of(const data::TextData& data, data::Token token) {
  if (!data.tokenizer) return fmt::to_string(token);
  return std::string(data.tokenizer->piece(token));
}

}  // namespace

std::vector<run::TextRecord> choose_texts(const importance::ImportanceTable& table,
                                          const std::vector<importance::AnyNotion>& notions,
                                          const data::TextData& data, std::size_t count) {
  std::vector<run::TextRecord> texts;
  for (const importance::AnyNotion& notion : notions) {
    const std::vector<float> importance = table.importance(notion.name);
    const auto ranking = placement::rank_by_importance(importance);
    const std::size_t most = std::min(count, ranking.size());
    for (const bool hardest : {true, false}) {
      for (std::size_t i = 0; i < most; ++i) {
        const ExampleId id = hardest ? ranking[i] : ranking[ranking.size() - 1 - i];
        run::TextRecord record = record_of(data, id);
        record.notion = notion.name;
        record.hardest = hardest;
        record.rank = static_cast<std::uint32_t>(i + 1);
        record.importance = double{importance[index(id)]};
        texts.push_back(std::move(record));
      }
    }
  }
  return texts;
}

void add_token_losses(models::Classifier& model, const data::TextData& data,
                      std::vector<run::TextRecord>& texts) {
  if (!data.train.is_corpus()) return;
  const torch::NoGradGuard no_grad;
  model.eval();
  std::map<std::uint64_t, torch::Tensor> known;  // a text may be hard by several notions
  for (run::TextRecord& text : texts) {
    const auto tokens = data.train.example(ExampleId{text.id});
    auto& losses = known[text.id];
    if (!losses.defined()) losses = losses_of_block(model, tokens);
    const auto values = losses.accessor<float, 1>();
    for (std::int64_t i = 0; i < values.size(0); ++i) {
      text.tokens.emplace_back(piece_of(data, tokens[static_cast<std::size_t>(i) + 1]), values[i]);
    }
  }
  model.train();
}

}  // namespace impart::train
