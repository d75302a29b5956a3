// impart list: what the named tables hold.

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "impart/config/model_names.h"
#include "impart/core/named_table.h"
#include "impart/data/datasets.h"
#include "impart/data/images/augment.h"
#include "impart/data/text/tokenizer.h"
#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/outers.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"
#include "impart/store/cache/policies.h"
#include "impart/study/launcher.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

template <class Row, std::size_t N>
void print_table(const Row (&table)[N]) {
  for (const Row& row : table) answer("  {:<20} {}\n", row.name, row.summary);
}

void print_presets(PresetKind kind) {
  const std::vector<Preset> presets = find_presets(kind);
  for (const Preset& preset : presets) answer("  {:<38} {}\n", preset.name, preset.summary);
  if (presets.empty()) answer("  none found; IMPART_PRESETS may name their folder\n");
}

using PrintTable = void();
constexpr Entry<PrintTable> kListings[] = {
    {"notions", "how the history of an example becomes its importance",
     [] { print_table(importance::kNotions); }},
    {"starts", "who owns what in the first epoch", [] { print_table(placement::kStarts); }},
    {"heuristics", "how importance becomes a partition",
     [] { print_table(placement::kHeuristics); }},
    {"exchanges", "how a part of the partition changes between epochs",
     [] { print_table(placement::kExchanges); }},
    {"selections", "what of its part a worker visits in an epoch",
     [] { print_table(placement::kSelections); }},
    {"outers", "how the mean of the workers' models becomes the next model",
     [] { print_table(placement::kOuters); }},
    {"caches", "what a cache keeps of what was read", [] { print_table(store::kCachePolicies); }},
    {"datasets", "what to train on", [] { print_table(data::kDatasets); }},
    {"augmentations", "what happens to images before training",
     [] { print_table(data::kAugmentations); }},
    {"tokenizers", "how text becomes tokens", [] { print_table(data::kTokenizers); }},
    {"models", "what to train", [] { print_table(config::kModelNames); }},
    {"launchers", "where the runs of a study are carried out",
     [] { print_table(study::kLaunchers); }},
    {"presets", "configurations, by name: impart train NAME",
     [] { print_presets(PresetKind::kRun); }},
    {"studies", "studies, by name: impart study NAME", [] { print_presets(PresetKind::kStudy); }},
    {"machines", "rates of clusters, by name: impart io --machine NAME",
     [] { print_presets(PresetKind::kMachine); }},
};

void list(const std::string& what) {
  if (!what.empty()) find_entry(kListings, "listing", what);
  for (const auto& listing : kListings) {
    if (!what.empty() && listing.name != what) continue;
    answer("{}: {}\n", listing.name, listing.summary);
    listing.function();
  }
}

}  // namespace

std::vector<std::string_view> listing_names() {
  return names_of(kListings);
}

void add_list_command(CLI::App& app) {
  auto* command = app.add_subcommand("list", "Show the notions, heuristics, models, … there are");
  auto what = std::make_shared<std::string>();
  command->add_option(
      "WHAT", *what,
      "notions, starts, heuristics, exchanges, selections, outers, caches, datasets, "
      "augmentations, tokenizers, models, launchers, presets, studies or machines; all if left "
      "out");
  command->callback([what] { list(*what); });
}

}  // namespace impart::cli
