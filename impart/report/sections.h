#pragma once

#include <cstddef>
#include <vector>

#include "impart/core/named_table.h"
#include "impart/report/analysis.h"
#include "impart/report/document.h"

namespace impart::report {

/// What sections may be told.
struct SectionSpec {
  std::size_t top = 8;  ///< arms besides the baseline in pictures that cannot show all
};

/// One part of a report. No blocks: there is nothing to say, and the report leaves it out.
using MakeSection = std::vector<Block>(const Analysis& analysis, const SectionSpec& spec);

MakeSection compare_results, compare_selections, show_hidden, compare_exchanges, compare_syncs,
    show_images, cross_warmup_and_interval, draw_box_plots, draw_learning_curves, time_to_target,
    list_search, count_overheads, count_io, map_data, show_worker_histograms, show_texts,
    split_variance, correlate_notions, list_skewed_norms, list_diverged_runs, list_skipped_runs,
    list_provenance;

/// A row of kSections.
struct SectionEntry : Entry<MakeSection> {
  bool folded = false;  ///< closed until somebody opens it
};

/// The sections in the order of the report: id, title, function. A new one is a function and a row.
inline constexpr SectionEntry kSections[] = {
    {{"results", "Results", compare_results}},
    {{"selection", "Visits and selection", compare_selections}},
    {{"hidden", "What was hidden", show_hidden}},
    {{"exchange", "How much is exchanged", compare_exchanges}},
    {{"local", "Local updates", compare_syncs}},
    {{"images", "Hardest and easiest images", show_images}},
    {{"tables", "Warm-up × interval", cross_warmup_and_interval}},
    {{"box-plots", "Best settings", draw_box_plots}},
    {{"curves", "Learning curves", draw_learning_curves}},
    {{"variance", "Spread over seeds", split_variance}, true},
    {{"target", "Time to target", time_to_target}},
    {{"search", "Search", list_search}},
    {{"overheads", "Overheads", count_overheads}, true},
    {{"io", "I/O and time", count_io}},
    {{"data-map", "Data map", map_data}},
    {{"workers", "Importance of the workers' parts", show_worker_histograms}},
    {{"texts", "Hardest and easiest texts", show_texts}},
    {{"notions", "Rank correlation", correlate_notions}, true},
    {{"skewed-norms", "Skewed parts and batch norm", list_skewed_norms}},
    {{"diverged", "Runs that diverged", list_diverged_runs}},
    {{"skipped", "Runs left out", list_skipped_runs}},
    {{"provenance", "Configuration and commands", list_provenance}, true},
};
static_assert(names_are_unique(kSections));

/// The verdict over all groups in one sentence, and group by group.
void write_verdicts(const Analysis& analysis, Document& document);

/// The numbers of the first screen.
std::vector<KeyFigure> choose_key_figures(const Analysis& analysis);

/// The picture of the first screen: the hardest images where there are some, else the most telling
/// figure. Nothing if the sections have none.
std::optional<Block> choose_lead(const Document& document);

/// ", mean over runs" behind a caption; "" if there is only one.
std::string mean_over_runs(const GroupAnalysis& group);

/// Whether the report is about a single run, which nothing can be compared with.
bool is_single_run(const Analysis& analysis);

/// A group's name in front of a caption: "cifar10 resnet18: "; "" if there is only one group.
std::string caption_start(const Analysis& analysis, const GroupAnalysis& group);

/// "-cifar10-resnet18" for names of files; "" if there is only one group.
std::string name_end(const Analysis& analysis, const GroupAnalysis& group);

}  // namespace impart::report
