#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/config/rules/rules_by_topic.h"
#include "impart/config/rules/situation.h"
#include "impart/core/error.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/schedule.h"

namespace impart::config {
namespace {

bool exchanges(const Situation& s) {
  return s.config.exchange.strategy != kNoExchange;
}

bool selects(const Situation& s) {
  return s.config.selection.strategy != kNoSelection;
}

placement::PlacementSpec decisions(const Situation& s) {
  return placement_spec(s.config, s.facts.own.rows);
}

std::vector<placement::ScheduleEvent> schedule(const Situation& s) {
  return placement::make_schedule(placement::schedule_spec(decisions(s)));
}

/// Why there is no schedule; "" if there is one.
std::string schedule_error(const Situation& s) {
  try {
    schedule(s);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// The first epoch that starts with an exchange; none if no epoch does.
std::optional<std::uint32_t> first_exchange(const Situation& s) {
  for (const placement::ScheduleEvent& event : schedule(s)) {
    if (event.kind == placement::ScheduleEvent::Kind::kExchange) return event.epoch;
  }
  return std::nullopt;
}

/// The first notion that is kept and needs to be told how hard examples are; "" if none does.
std::string notion_of_truth(const Situation& s) {
  for (const importance::AnyNotion& notion : placement::tracked_notions(decisions(s))) {
    if (importance::overlap(notion.needs, importance::StateSet::kTruth)) {
      return std::string(notion.name);
    }
  }
  return "";
}

/// The first epoch before which a selection knows something of the examples that it looks at.
std::uint32_t first_informed_epoch(const Situation& s) {
  const placement::PlacementSpec spec = decisions(s);
  const bool by_notion = spec.selection.needs.source == placement::ImportanceSource::kNotion;
  if (by_notion && importance::needs_window(spec.notion.needs)) return spec.ignore + 1;
  const bool looks = spec.selection.needs.source != placement::ImportanceSource::kNone;
  return looks && !(by_notion && !importance::needs_visits(spec.notion.needs)) ? 1 : 0;
}

/// Epochs before those at the end of the run that visit everything.
std::uint32_t selecting_epochs(const Situation& s) {
  return s.config.epochs - std::min(decisions(s).selecting.final_epochs, s.config.epochs);
}

/// What a selection would have to know, and from when on it does.
std::string when_informed(const Situation& s) {
  const std::uint32_t first = first_informed_epoch(s);
  return first > 1 ? fmt::format("importance.ignore is {}, and so nothing is known before epoch {}",
                                 first - 1, first + 1)
                   : "nothing is known of any example before epoch 2";
}

bool uses_labels(const Situation& s) {
  return decisions(s).heuristic.uses_labels;
}

constexpr Rule kPlacementRules[] = {
    {"partition-warm-up",
     {"partition.warmup", "epochs"},
     [](const Situation& s) {
       return s.config.partition.warmup.of(s.config.epochs) > s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format(
           "partition.warmup is {}, but epochs is {}; warm up for fewer epochs, or train for more",
           s.config.partition.warmup.of(s.config.epochs), s.config.epochs);
     }},
    {"schedule",
     {"importance.ignore", "partition.warmup", "partition.interval", "epochs"},
     [](const Situation& s) { return !schedule_error(s).empty(); },
     [](const Situation& s) {
       return fmt::format("importance.ignore {}, partition.warmup {}, interval {}: {}",
                          s.config.importance.ignore.of(s.config.epochs),
                          s.config.partition.warmup.of(s.config.epochs),
                          s.config.partition.interval.of(s.config.epochs), schedule_error(s));
     }},
    {"labels-of-heuristic",
     {"partition.heuristic", "data.name"},
     [](const Situation& s) {
       const auto kind = kind_of_data(s);
       return kind && kind->task == data::kLanguage && uses_labels(s);
     },
     [](const Situation& s) {
       return fmt::format("partition.heuristic: {} needs the label of every example",
                          s.config.partition.heuristic);
     }},
    {"labels-of-start",
     {"partition.start", "data.name"},
     [](const Situation& s) {
       const auto kind = kind_of_data(s);
       return kind && kind->task == data::kLanguage && decisions(s).start.uses_labels;
     },
     [](const Situation& s) {
       return fmt::format(
           "partition.start: {} needs the label of every example, and language has none; take "
           "random, contiguous or file",
           s.config.partition.start);
     }},
    {"file-of-start",
     {"partition.start", "partition.start_file"},
     [](const Situation& s) {
       return decisions(s).start.needs_file == s.config.partition.start_file.empty();
     },
     [](const Situation& s) -> std::string {
       return s.config.partition.start_file.empty()
                  ? fmt::format("partition.start: {} needs partition.start_file",
                                s.config.partition.start)
                  : "partition.start_file needs partition.start: file";
     }},
    {"truth-of-notion",
     {"importance.notion", "importance.record", "data.name"},
     [](const Situation& s) {
       return s.facts.data && !s.facts.data->has_truth && !notion_of_truth(s).empty();
     },
     [](const Situation& s) {
       return fmt::format(
           "importance.notion: the notion '{}' needs a data set that knows how hard its examples "
           "are",
           notion_of_truth(s));
     }},
    {"exchange-of-workers",
     {"exchange.strategy", "workers.count"},
     [](const Situation& s) { return exchanges(s) && s.config.workers.count < 2; },
     [](const Situation& s) {
       return fmt::format("exchange.strategy: {} needs workers.count of 2 or more",
                          s.config.exchange.strategy);
     }},
    {"exchange-of-something",
     {"exchange.strategy", "exchange.fraction"},
     [](const Situation& s) { return exchanges(s) && s.config.exchange.fraction == 0; },
     [](const Situation& s) {
       return fmt::format("exchange.strategy: {} needs exchange.fraction above 0",
                          s.config.exchange.strategy);
     }},
    {"exchange-happens",
     {"exchange.strategy", "epochs", "partition.warmup", "partition.interval"},
     [](const Situation& s) { return exchanges(s) && !first_exchange(s); },
     [](const Situation& s) {
       return fmt::format(
           "exchange.strategy: {} would never exchange: with epochs {}, partition.warmup {} and "
           "partition.interval {} every epoch starts with a new partition",
           s.config.exchange.strategy, s.config.epochs,
           s.config.partition.warmup.of(s.config.epochs),
           s.config.partition.interval.of(s.config.epochs));
     }},
    {"exchange-by-importance",
     {"exchange.strategy", "importance.ignore"},
     [](const Situation& s) {
       return exchanges(s) &&
              decisions(s).exchange->source == placement::ImportanceSource::kNotion &&
              s.config.importance.ignore.of(s.config.epochs) >= *first_exchange(s);
     },
     [](const Situation& s) {
       return fmt::format(
           "exchange.strategy: {} exchanges by importance from epoch {} on, but importance.ignore "
           "is {}; ignore fewer epochs",
           s.config.exchange.strategy, *first_exchange(s) + 1,
           s.config.importance.ignore.of(s.config.epochs));
     }},
    {"selection-of-parts",
     {"selection.strategy", "workers.uneven"},
     [](const Situation& s) {
       return selects(s) && s.config.workers.uneven != placement::Uneven::kWeight;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.strategy: {} needs workers.uneven: weight; repeated or dropped visits would "
           "undo the selection",
           s.config.selection.strategy);
     }},
    {"selection-of-something",
     {"selection.strategy", "selection.final", "epochs"},
     [](const Situation& s) {
       return selects(s) && decisions(s).selecting.final_epochs >= s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.strategy: {} would never select: selection.final is {} of {} epochs",
           s.config.selection.strategy, decisions(s).selecting.final_epochs, s.config.epochs);
     }},
    {"selection-by-knowledge",
     {"selection.strategy", "importance.ignore", "selection.final", "epochs"},
     [](const Situation& s) {
       return selects(s) && selecting_epochs(s) > 0 &&
              first_informed_epoch(s) >= selecting_epochs(s);
     },
     [](const Situation& s) {
       return fmt::format("selection.strategy: {} would never select: {}, and it selects {}",
                          s.config.selection.strategy, when_informed(s),
                          selecting_epochs(s) == 1
                              ? "in epoch 1 only"
                              : fmt::format("in epochs 1 to {}", selecting_epochs(s)));
     }},
    {"prune-happens",
     {"selection.after", "selection.final", "epochs"},
     [](const Situation& s) {
       return decisions(s).selection.needs.for_good &&
              decisions(s).selecting.after >= selecting_epochs(s);
     },
     [](const Situation& s) {
       const std::uint32_t final_epochs = decisions(s).selecting.final_epochs;
       return fmt::format(
           "selection.after is {}, but epochs is {}{}: nothing would be pruned",
           decisions(s).selecting.after, s.config.epochs,
           final_epochs > 0 ? fmt::format(" and selection.final {}", final_epochs) : "");
     }},
    {"prune-by-knowledge",
     {"selection.after", "importance.ignore", "importance.notion"},
     [](const Situation& s) {
       return decisions(s).selection.needs.for_good &&
              decisions(s).selecting.after < first_informed_epoch(s);
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.after is {}, but {}: nothing would be pruned; let it be {} or more",
           decisions(s).selecting.after, when_informed(s), first_informed_epoch(s));
     }},
    {"curriculum-by-knowledge",
     {"selection.ramp", "importance.ignore", "importance.notion"},
     [](const Situation& s) {
       return decisions(s).selection.needs.ramps &&
              decisions(s).selecting.ramp <= first_informed_epoch(s);
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.ramp is {}, but {}: everything would be visited; let it be {} or more",
           decisions(s).selecting.ramp, when_informed(s), first_informed_epoch(s) + 1);
     }},
    {"learning-rate-of-hidden",
     {"selection.lr", "selection.strategy"},
     [](const Situation& s) {
       return s.config.selection.lr == SelectionConfig::Rate::kScale && selects(s) &&
              decisions(s).selection.needs.keeps_sum;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.lr: scale counts twice with selection.strategy: {}, whose weights make up "
           "for what is hidden; take keep",
           s.config.selection.strategy);
     }},
};

}  // namespace

std::span<const Rule> placement_rules() {
  return kPlacementRules;
}

}  // namespace impart::config
