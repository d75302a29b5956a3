#include "impart/config/keys/keys.h"
#include "impart/config/keys/section_keys.h"
#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"

namespace impart::config {
namespace {

void add_start(Schema& schema, const placement::OwnRows& own) {
  using Config = PartitionConfig;
  using Sizes = placement::PartSizes;
  SectionKeys partition(schema, "partition", &RunConfig::partition);
  const auto add = [&](std::string_view name, auto Config::*member, const auto& rule,
                       std::string_view help) {  // they came when there were runs already
    partition.key(name, member, rule, help).counts_at_default = false;
  };
  add("start", &Config::start, name_of("start", names_of(placement::kStarts, own.starts)),
      "who owns what in the first epoch");
  add("alpha", &Config::alpha,
      number({.least = placement::kLeastAlpha, .most = placement::kMostAlpha}),
      "small for few classes per worker, large for a mix like that of all (dirichlet)");
  add("sizes", &Config::sizes,
      choice<Sizes>("sizes", {{"free", Sizes::kFree}, {"even", Sizes::kEven}}),
      "parts of the sizes that are drawn, or of equal ones (dirichlet)");
  add("start_file", &Config::start_file, text(),
      "owners: .csv with id,worker, .npy, or .txt (start file)");
  add("strength", &Config::strength, number({.most = 1}),
      "how much importance counts against chance: 0 is random, 1 is blocks (graded-blocks)");
  add("warmup_shuffle", &Config::warmup_shuffle, flag(),
      "warm up with new random partitions after a start that is not random, too; else it stays");
}

}  // namespace

void add_placement(Schema& schema, const placement::OwnRows& own) {
  SectionKeys importance(schema, "importance", &RunConfig::importance);
  importance.key("notion", &ImportanceConfig::notion,
                 name_of("notion", names_of(importance::kNotions, own.notions)),
                 "what makes an example important");
  importance.key("ignore", &ImportanceConfig::ignore, epochs<Epochs>(0, kMostEpochs),
                 "first epochs whose signals do not count");
  importance.key(
      "window", &ImportanceConfig::window,
      choice<importance::WindowKind>("window", {{"interval", importance::WindowKind::kInterval},
                                                {"run", importance::WindowKind::kRun}}),
      "which visits count: those since the last repartitioning, or all");
  importance.key("history", &ImportanceConfig::history, flag(),
                 "record every loss (4 bytes per example and epoch)", kSameResult);
  importance.key("record", &ImportanceConfig::record,
                 names_of_many("notion", names_of(importance::kNotions, own.notions)),
                 "further notions to measure and write", kSameResult);
  importance.key("images", &ImportanceConfig::images, whole(0u, 1000u),
                 "how many of the hardest and easiest images of each notion to write (images)",
                 kSameResult);
  importance.key("texts", &ImportanceConfig::texts, whole(0u, 100000u),
                 "how many of the hardest and easiest texts of each notion to write (text)",
                 kSameResult);
  importance.key("token_losses", &ImportanceConfig::token_losses, flag(),
                 "write the losses of these texts' single tokens, too", kSameResult);
  importance.key(
      "dissimilarity", &ImportanceConfig::dissimilarity, epochs<EpochInterval>(0, kMostEpochs),
      "epochs between two measurements of how much the workers' gradients differ; 0: none",
      kSameResult);

  SectionKeys partition(schema, "partition", &RunConfig::partition);
  partition.key("heuristic", &PartitionConfig::heuristic,
                name_of("heuristic", names_of(placement::kHeuristics, own.heuristics)),
                "how importance becomes a partition");
  partition.key("warmup", &PartitionConfig::warmup, epochs<Epochs>(0, kMostEpochs),
                "epochs at the start, each with a new random partition");
  partition.key("interval", &PartitionConfig::interval, epochs<EpochInterval>(0, kMostEpochs),
                "epochs between two repartitionings; 0: never again");
  partition.key("sticky", &PartitionConfig::sticky, flag(),
                "move as few examples as the heuristic allows");
  partition.key("save", &PartitionConfig::save, flag(), "write every partition", kSameResult);
  add_start(schema, own);

  SectionKeys exchange(schema, "exchange", &RunConfig::exchange);
  std::vector<std::string_view> strategies = names_of(placement::kExchanges, own.exchanges);
  strategies.insert(strategies.begin(), kNoExchange);
  exchange.key("strategy", &ExchangeConfig::strategy, name_of("exchange", strategies),
               "what workers exchange between two epochs");
  exchange.key("fraction", &ExchangeConfig::fraction, number({.most = 1}),
               "share of its part that a worker gives away");
  exchange.key("arrivals_last", &ExchangeConfig::arrivals_last, flag(),
               "visit what has just moved after the rest: the first steps need not wait for it");
}

void add_selection(Schema& schema, const placement::OwnRows& own) {
  using Config = SelectionConfig;
  using enum placement::SelectionScope;
  SectionKeys selection(schema, "selection", &RunConfig::selection);
  const NumberRange share{.most = 1}, positive_share{.most = 1, .without_least = true};
  selection.key("strategy", &Config::strategy,
                name_of("selection", names_of(placement::kSelections, own.selections)),
                "what of its part a worker visits in an epoch");
  selection.key("share", &Config::share,
                or_word("published", number({.most = 1, .without_most = true})),
                "share that is left out (random, infobatch, kakurenbo, prune)");
  selection.key("scope", &Config::scope,
                choice<placement::SelectionScope>("scope", {{"part", kPart}, {"all", kAll}}),
                "whose mean, or easiest, is meant: of each part, or of all examples");
  selection.key("final", &Config::final, or_word("published", epochs<Epochs>(0, kMostEpochs)),
                "epochs at the end of the run that visit everything with weight 1");
  selection.key("whole_steps", &Config::whole_steps, flag(),
                "leave out so much less that all workers make the same whole steps (not prune)");
  selection.key("confidence", &Config::confidence, number(positive_share),
                "probability of the right class from which on an example is hidden (kakurenbo)");
  using Rate = Config::Rate;
  selection.key("lr", &Config::lr,
                choice<Rate>("rate", {{"keep", Rate::kKeep}, {"scale", Rate::kScale}}),
                "scale: learning rate x 1/(1 - share that was really hidden)");
  selection.key("budget", &Config::budget, number({.most = 100, .without_least = true}),
                "visits for each example of a part (sampling)");
  selection.key("mix", &Config::mix, number(share),
                "how much importance counts against equal chances (sampling)");
  selection.key("threshold", &Config::threshold, number({}),
                "gain from which on an epoch is sampled (sampling)");
  selection.key("after", &Config::after, epochs<Epochs>(0, kMostEpochs),
                "epochs before examples go for good (prune)");
  using Side = placement::PruneSide;
  selection.key("prune", &Config::prune,
                choice<Side>("side", {{"easiest", Side::kEasiest}, {"hardest", Side::kHardest}}),
                "which examples go (prune)");
  selection.key("start", &Config::start, number(positive_share),
                "share that is visited first (curriculum)");
  selection.key("ramp", &Config::ramp, epochs<Epochs>(0, kMostEpochs),
                "epochs until everything is visited (curriculum)");
  using Growth = placement::CurriculumGrowth;
  selection.key("growth", &Config::growth,
                choice<Growth>("growth", {{"linear", Growth::kLinear}, {"root", Growth::kRoot}}),
                "how the share grows (curriculum)");
  selection.key("epsilon", &Config::epsilon, number({}), "added to the importance (weights)");
  for (ConfigKey& key : schema) {  // they came when there were runs already
    if (key.section == "selection") key.counts_at_default = false;
  }
}

}  // namespace impart::config
