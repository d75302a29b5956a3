#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/report/example_files.h"
#include "impart/report/example_runs.h"
#include "impart/report/numbers.h"
#include "impart/report/sections.h"
#include "impart/results/run_results.h"
#include "impart/run/image_file.h"

namespace impart::report {
namespace {

constexpr std::size_t kMostClasses = 20;  ///< rows of a table: the first and last half of them

/// What a run hid of each class.
struct HiddenRun {
  Example example;
  std::vector<std::string> classes = {};  ///< their names
  std::vector<double> shares = {};        ///< hidden of 1, of the visits that all could have had
  double share = 0;                       ///< of all classes together
};

/// By class; NaN for one without examples.
std::vector<double> shares_by_class(const Labels& labels, std::span<const std::uint32_t> times,
                                    double epochs) {
  std::vector<double> hidden(labels.names.size()), visits(labels.names.size());
  for (std::size_t id = 0; id < times.size(); ++id) {
    hidden[labels.numbers[id]] += times[id];
    visits[labels.numbers[id]] += epochs;
  }
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] /= visits[i];
  return hidden;
}

/// Nothing if the run hid nothing, or its examples have no classes.
std::optional<HiddenRun> read_run(const Example& example) {
  const auto times = read_hidden(example.run->folder);
  const double epochs = example.run->number("epochs").value_or(0);
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  if (sum == 0 || epochs == 0) return std::nullopt;
  Labels labels = read_labels(example.run->folder);
  if (labels.numbers.empty()) return std::nullopt;
  if (labels.numbers.size() != times.size()) {
    throw DataError(fmt::format("{}: hidden.npy has {} examples, labels.npy {}",
                                example.run->folder, times.size(), labels.numbers.size()));
  }
  auto shares = shares_by_class(labels, times, epochs);
  return HiddenRun{.example = example,
                   .classes = std::move(labels.names),
                   .shares = std::move(shares),
                   .share = sum / (epochs * static_cast<double>(times.size()))};
}

bool hides_by_chance(const Example& example) {
  const auto config = results::flatten_config(example.run->config);
  return results::setting(config, "selection.strategy") == "random";
}

/// The first run of every arm that hid something; what chance hid comes last.
std::vector<HiddenRun> read_runs(const GroupAnalysis& group, std::vector<Block>& blocks) {
  std::vector<HiddenRun> runs;
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    try {
      auto run = read_run({&group, arm, &arm->arm->runs.front()});
      if (run) runs.push_back(std::move(*run));
    } catch (const std::exception& error) {
      blocks.emplace_back(Paragraph{fmt::format("Left out: {}", error.what()), true});
    }
  }
  std::stable_partition(runs.begin(), runs.end(),
                        [](const HiddenRun& run) { return !hides_by_chance(run.example); });
  return runs;
}

/// The share of a class in a run; NaN if the run does not know it.
double share_of(const HiddenRun& run, const std::string& name) {
  const auto found = std::find(run.classes.begin(), run.classes.end(), name);
  if (found == run.classes.end()) return std::numeric_limits<double>::quiet_NaN();
  return run.shares[static_cast<std::size_t>(found - run.classes.begin())];
}

/// Names of classes, those that the runs hid most first.
std::vector<std::string> rank_classes(const std::vector<HiddenRun>& runs) {
  std::map<std::string, double> sums;
  for (const HiddenRun& run : runs) {
    for (std::size_t i = 0; i < run.classes.size(); ++i) {
      if (std::isfinite(run.shares[i])) sums[run.classes[i]] += run.shares[i] / run.share;
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, sum] : sums) names.push_back(name);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return sums[a] > sums[b]; });
  return names;
}

/// Shaded by how much more or less of the class was hidden than of all.
Cell share_cell(double share, double of_all) {
  if (!std::isfinite(share)) return missing_cell();
  return {.text = fmt::format("{:.1f} %", 100 * share),
          .value = 100 * share,
          .shade = std::clamp(share / of_all - 1, -1.0, 1.0)};
}

Table class_table(const Analysis& analysis, const GroupAnalysis& group,
                  const std::vector<HiddenRun>& runs) {
  Table table{.caption = fmt::format("{}share of the visits that was hidden, by class",
                                     caption_start(analysis, group)),
              .columns = {{"class", false}},
              .in_latex = false};
  std::vector<Cell> all = {text_cell("all")};
  for (const HiddenRun& run : runs) {
    table.columns.push_back({run.example.arm->arm->name, true, run.example.name()});
    all.push_back(share_cell(run.share, run.share));
  }
  auto names = rank_classes(runs);
  if (names.size() > kMostClasses) {
    table.notes.push_back(fmt::format("Of {} classes the {} that were hidden most and least.",
                                      names.size(), kMostClasses));
    const auto half = static_cast<std::ptrdiff_t>(kMostClasses / 2);
    names.erase(names.begin() + half, names.end() - half);
  }
  for (const std::string& name : names) {
    table.rows.push_back({text_cell(name)});
    for (const HiddenRun& run : runs) {
      table.rows.back().push_back(share_cell(share_of(run, name), run.share));
    }
  }
  table.rows.push_back(std::move(all));
  table.notes.push_back("Of the first run of each setting. Green: more than of all; red: less.");
  return table;
}

Thumbnail tile_of(const run::ImageRecord& image, double epochs) {
  return {.id = image.id,
          .png = image.png,
          .label = image.label,
          .prediction = image.prediction,
          .place = fmt::format("{} of {} epochs", image.hidden->times, epochs)};
}

ThumbnailRow row_of(const std::vector<run::ImageRecord>& images, bool most, double epochs) {
  std::vector<std::pair<std::uint32_t, const run::ImageRecord*>> found;
  std::uint32_t times = 0;
  for (const run::ImageRecord& image : images) {
    if (!image.hidden || image.hidden->most != most) continue;
    found.emplace_back(image.hidden->rank, &image);
    times = std::max(times, image.hidden->times);
  }
  std::sort(found.begin(), found.end());
  ThumbnailRow row{.title = most         ? "hidden most often"
                            : times == 0 ? "never hidden"
                                         : "hidden least often"};
  for (const auto& [rank, image] : found) row.tiles.push_back(tile_of(*image, epochs));
  return row;
}

/// Nothing if the run left no pictures.
std::optional<Gallery> gallery_of(const Analysis& analysis, const Example& example) {
  const std::string path = images_path(example.run->folder);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto images = run::read_images(path);
  Gallery gallery{.caption = fmt::format("{}{}: what was hidden, and what was not",
                                         caption_start(analysis, *example.group), example.name()),
                  .pictures = pictures_of(*example.group)};
  for (const bool most : {true, false}) {
    ThumbnailRow row = row_of(images, most, example.run->number("epochs").value_or(0));
    if (!row.tiles.empty()) gallery.rows.push_back(std::move(row));
  }
  if (gallery.rows.empty()) return std::nullopt;
  return gallery;
}

void add_galleries(const Analysis& analysis, const std::vector<HiddenRun>& runs,
                   std::vector<Block>& blocks) {
  std::size_t added = 0;
  for (const HiddenRun& run : runs) {
    if (added == kMostPictures) return;
    try {
      auto gallery = gallery_of(analysis, run.example);
      if (!gallery) continue;
      gallery->collapsed = added > 0;
      blocks.emplace_back(std::move(*gallery));
      ++added;
    } catch (const std::exception& error) {
      blocks.emplace_back(Paragraph{fmt::format("Left out: {}", error.what()), true});
    }
  }
}

}  // namespace

std::vector<Block> show_hidden(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const auto runs = read_runs(group, blocks);
    if (runs.empty()) continue;
    blocks.emplace_back(class_table(analysis, group, runs));
    add_galleries(analysis, runs, blocks);
  }
  const bool any = std::any_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return std::holds_alternative<Gallery>(block);
  });
  if (any) {
    blocks.emplace_back(
        Paragraph{"Under each image: its class, what the model at the end of training takes it for "
                  "if that is something else, its id, and in how many epochs it was hidden. Among "
                  "equals the easiest are shown as hidden, the hardest as not.",
                  true});
  }
  return blocks;
}

}  // namespace impart::report
