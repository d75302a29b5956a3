#include "impart/train/output/run_output.h"

#include <algorithm>

#include "impart/core/column_file.h"
#include "impart/train/output/hardest_texts.h"

namespace impart::train {

void write_results(const RunSpec& spec, const RunData& data, const placement::Placement& placement,
                   models::Classifier& model, run::RunSummary& summary) {
  const config::ImportanceConfig& wanted = spec.config.importance;
  const std::string& folder = spec.config.output;
  const importance::ImportanceTable& table = placement.table();
  importance::write_importance_csv(folder + "/importance.csv", table);
  write_scores(folder + "/importance.npy", "importance", table.importance(wanted.notion));
  if (wanted.history) importance::write_history(folder + "/history.npy", table);
  if (!data.labels.empty()) write_integers(folder + "/labels.npy", "label", data.labels);
  if (data.text && wanted.texts > 0) {
    auto texts =
        choose_texts(table, placement::tracked_notions(placement.spec()), *data.text, wanted.texts);
    if (wanted.token_losses) add_token_losses(model, *data.text, texts);
    run::write_texts(folder + "/texts.jsonl", texts);
  }
  const auto sizes = placement.partition().sizes();
  summary.config_hash = spec.config_hash;
  summary.largest_part = *std::max_element(sizes.begin(), sizes.end());
  summary.payload_bytes_total = data.payload_bytes;
  run::write_summary(folder, summary);
}

void write_hidden(const std::string& folder, std::span<const std::uint32_t> times_hidden) {
  if (!times_hidden.empty()) write_integers(folder + "/hidden.npy", "hidden", times_hidden);
}

}  // namespace impart::train
