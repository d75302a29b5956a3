#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "impart/core/file.h"
#include "impart/report/numbers.h"
#include "impart/report/sections.h"

namespace impart::report {
namespace {

/// A path as one word of a shell command.
std::string quoted(const std::string& path) {
  const bool plain = path.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_./-+=@%:,") == std::string::npos;
  if (plain) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

Table settings_table(const GroupAnalysis& group, const std::string& start) {
  Table table{.caption = start + "what differs between settings",
              .columns = {{"setting", false}},
              .collapsed = true,
              .in_latex = false};
  std::vector<std::string> keys;
  for (const ArmAnalysis& arm : group.arms) {
    for (const auto& [key, value] : arm.arm->settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) table.columns.push_back({key, false});
  for (const ArmAnalysis& arm : group.arms) {
    table.rows.push_back({text_cell(arm.arm->name)});
    for (const std::string& key : keys) {
      table.rows.back().push_back(text_cell(std::string(results::setting(arm.arm->settings, key))));
    }
  }
  return table;
}

Table runs_table(const GroupAnalysis& group, const Analysis& analysis, const std::string& start) {
  Table table{.caption = start + "runs, and the commands that repeat them",
              .collapsed = true,
              .in_latex = false};
  table.columns = {
      {"setting", false}, {"seed"}, {analysis.metric_name}, {"config", false}, {"command", false}};
  for (const ArmAnalysis& arm : group.arms) {
    for (const results::RunResult& run : arm.arm->runs) {
      table.rows.push_back(
          {text_cell(arm.arm->name),
           run.seed ? text_cell(fmt::format("{}", *run.seed)) : missing_cell(),
           number_cell(run.number(analysis.results->metric).value_or(0)),
           text_cell(run.config_hash),
           text_cell(run.config.empty() ? run.folder
                                        : fmt::format("impart train {} output=AGAIN",
                                                      quoted(run.folder + "/config.yaml")))});
    }
  }
  return table;
}

std::string configuration_title(const GroupAnalysis& group, const ArmAnalysis& shown) {
  const std::string title = fmt::format("complete configuration of {}", shown.arm->name);
  const bool is_alone = group.arms.size() == 1 && shown.arm->runs.size() == 1;
  return is_alone ? title
                  : title + "; the others differ in the keys below, in seed, name and output";
}

}  // namespace

std::vector<Block> list_diverged_runs(const Analysis& analysis, const SectionSpec&) {
  Table table{.caption =
                  "Runs with a training loss that is NaN or infinite from an epoch on; their "
                  "numbers count like those of others",
              .columns = {{"run", false}, {"from epoch"}},
              .in_latex = false};
  for (const DivergedRun& run : analysis.diverged) {
    table.rows.push_back({text_cell(run.folder), text_cell(fmt::format("{}", run.epoch + 1))});
  }
  if (table.rows.empty()) return {};
  table.collapsed = table.rows.size() > 20;
  return {std::move(table)};
}

std::vector<Block> list_skewed_norms(const Analysis& analysis, const SectionSpec&) {
  Table table{
      .caption =
          "Runs whose workers' parts differed in their classes while each worker normalised with "
          "its own batch. On CIFAR-10 (ResNet-18, 128 workers, parts by class that never change) "
          "that gave 25 % instead of the 84 % of common statistics. workers.batch_norm: shared or "
          "model.norm: group avoids it, an exchange makes it less",
      .columns = {{"run", false}, {"class skew"}},
      .in_latex = false};
  for (const GroupAnalysis& group : analysis.groups) {
    for (const results::ArmResults& arm : group.group->arms) {
      for (const results::RunResult& run : arm.runs) {
        const auto skew = run.number("batch_norm_skew");
        if (!skew) continue;
        table.rows.push_back({text_cell(run.folder), text_cell(fmt::format("{:.2f}", *skew))});
      }
    }
  }
  if (table.rows.empty()) return {};
  table.collapsed = table.rows.size() > 20;
  return {std::move(table)};
}

std::vector<Block> list_skipped_runs(const Analysis& analysis, const SectionSpec&) {
  const auto& skipped = analysis.results->skipped;
  if (skipped.empty()) return {};
  Table table{.caption = fmt::format(
                  "{} that no number was taken from",
                  skipped.size() == 1 ? "1 run" : fmt::format("{} runs", skipped.size())),
              .columns = {{"run", false}, {"reason", false}},
              .in_latex = false};
  for (const results::SkippedRun& run : skipped) {
    table.rows.push_back({text_cell(run.folder), text_cell(run.reason)});
  }
  table.collapsed = table.rows.size() > 20;
  return {std::move(table)};
}

std::vector<Block> list_provenance(const Analysis& analysis, const SectionSpec&) {
  std::vector<Block> blocks;
  for (const GroupAnalysis& group : analysis.groups) {
    const std::string start = caption_start(analysis, group);
    const ArmAnalysis& first = group.baseline() != nullptr ? *group.baseline() : group.arms.front();
    const results::RunResult& run = first.arm->runs.front();
    if (!run.config.empty()) {
      blocks.emplace_back(Verbatim{start + configuration_title(group, first), run.config});
    }
    if (group.arms.size() > 1) blocks.emplace_back(settings_table(group, start));
    blocks.emplace_back(runs_table(group, analysis, start));
    const std::string environment = run.folder + "/env.json";
    if (std::filesystem::is_regular_file(environment)) {
      blocks.emplace_back(Verbatim{fmt::format("{}what {} ran on", start, first.arm->name),
                                   std::string(InputFile(environment).text())});
    }
  }
  return blocks;
}

}  // namespace impart::report
