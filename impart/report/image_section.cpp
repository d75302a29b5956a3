#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "impart/report/example_files.h"
#include "impart/report/example_runs.h"
#include "impart/report/sections.h"
#include "impart/results/run_results.h"
#include "impart/run/image_file.h"

namespace impart::report {
namespace {

/// Where an arm puts hard examples: the more it says, the rather it is shown.
int placement_interest(const ArmAnalysis& arm) {
  const auto config = results::flatten_config(arm.arm->runs.front().config);
  const std::string_view heuristic = results::setting(config, "partition.heuristic");
  if (heuristic == "blocks") return 2;
  return heuristic == "random" ? 0 : 1;
}

/// The run of a group whose images are shown.
std::optional<Example> choose_run(const GroupAnalysis& group) {
  std::optional<Example> chosen;
  int most = -1;
  for (const ArmAnalysis* arm : group.leaders(group.arms.size())) {
    const results::RunResult& run = arm->arm->runs.front();
    if (!std::filesystem::exists(images_path(run.folder))) continue;
    const int interest = placement_interest(*arm);
    if (interest <= most) continue;
    most = interest;
    chosen = Example{&group, arm, &run};
  }
  return chosen;
}

Thumbnail tile_of(const run::ImageRecord& image) {
  return {.id = image.id,
          .png = image.png,
          .label = image.label,
          .prediction = image.prediction,
          .place = fmt::format("worker {}", image.worker)};
}

/// What was asked for, the most extreme first. Class: any if it is empty.
ThumbnailRow row_of(const std::vector<run::ImageRecord>& images, const run::ImageRank& wanted,
                    const std::string& label) {
  std::vector<std::pair<std::uint32_t, const run::ImageRecord*>> found;
  for (const run::ImageRecord& image : images) {
    if (!label.empty() && image.label != label) continue;
    for (const run::ImageRank& rank : image.ranks) {
      const bool fits = rank.notion == wanted.notion && rank.in_class == wanted.in_class &&
                        rank.hardest == wanted.hardest;
      if (fits) found.emplace_back(rank.rank, &image);
    }
  }
  std::sort(found.begin(), found.end());
  const char* end = wanted.hardest ? "hardest" : "easiest";
  ThumbnailRow row{.title = label.empty() ? end : fmt::format("{}: {}", label, end)};
  for (const auto& [rank, image] : found) row.tiles.push_back(tile_of(*image));
  return row;
}

void add_rows(const std::vector<run::ImageRecord>& images, run::ImageRank wanted,
              const std::string& label, Gallery& gallery) {
  for (const bool hardest : {true, false}) {
    wanted.hardest = hardest;
    ThumbnailRow row = row_of(images, wanted, label);
    if (!row.tiles.empty()) gallery.rows.push_back(std::move(row));
  }
}

/// Without repetition, in the order of the file.
template <class Names>
std::vector<std::string> distinct(const std::vector<run::ImageRecord>& images,
                                  const Names& names_of) {
  std::vector<std::string> distinct;
  for (const run::ImageRecord& image : images) {
    for (const std::string& name : names_of(image)) {
      if (std::find(distinct.begin(), distinct.end(), name) == distinct.end()) {
        distinct.push_back(name);
      }
    }
  }
  return distinct;
}

std::vector<std::string> notions_of(const run::ImageRecord& image) {
  std::vector<std::string> names;
  for (const run::ImageRank& rank : image.ranks) names.push_back(rank.notion);
  return names;
}

std::vector<std::string> labels_of(const run::ImageRecord& image) {
  const bool in_class = std::any_of(image.ranks.begin(), image.ranks.end(),
                                    [](const run::ImageRank& rank) { return rank.in_class; });
  return in_class ? std::vector{image.label} : std::vector<std::string>{};
}

void add_galleries(const Analysis& analysis, const Example& example, std::vector<Block>& blocks) {
  const auto images = run::read_images(images_path(example.run->folder));
  const std::string start = caption_start(analysis, *example.group) + example.name();
  const auto notions = distinct(images, notions_of);
  for (const std::string& notion : notions) {
    Gallery gallery{.caption = fmt::format("{}: images by {}", start, notion),
                    .pictures = pictures_of(*example.group),
                    .collapsed = notion != notions.front()};
    add_rows(images, {.notion = notion}, "", gallery);
    blocks.emplace_back(std::move(gallery));
  }
  const auto labels = distinct(images, labels_of);
  if (labels.empty()) return;
  Gallery classes{.caption = fmt::format("{}: images of each class by {}", start, notions.front()),
                  .pictures = pictures_of(*example.group),
                  .collapsed = true};
  for (const std::string& label : labels) {
    add_rows(images, {.notion = notions.front(), .in_class = true}, label, classes);
  }
  blocks.emplace_back(std::move(classes));
}

}  // namespace

std::vector<Block> show_images(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    try {
      if (const auto example = choose_run(group)) add_galleries(analysis, *example, blocks);
    } catch (const std::exception& error) {
      blocks.emplace_back(Paragraph{fmt::format("Left out: {}", error.what()), true});
    }
  }
  const bool any = std::any_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return std::holds_alternative<Gallery>(block);
  });
  if (any) {
    blocks.emplace_back(
        Paragraph{"Under each image: its class, what the model at the end of training takes it for "
                  "if that is something else, its id, and the worker that has it at the end.",
                  true});
  }
  return blocks;
}

}  // namespace impart::report
