#include "cli/study/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/terminal/terminal_text.h"

namespace impart::cli {
namespace {

constexpr std::size_t kDoneColumns = 8;
constexpr std::size_t kCountColumns = 8;
constexpr std::size_t kValueColumns = 17;
constexpr std::size_t kDifferenceColumns = 11;
constexpr std::string_view kBest = "* ";
constexpr std::string_view kOther = "  ";
constexpr std::size_t kShortestName = 8;

std::string number_text(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.2f}", value) : fmt::format("{:.4g}", value);
}

std::string mean_text(const study::ArmStatus& arm) {
  if (!arm.mean) return "";
  if (!arm.deviation) return number_text(*arm.mean);
  return fmt::format("{} ± {}", number_text(*arm.mean), number_text(*arm.deviation));
}

std::string difference_text(const study::ArmStatus& arm) {
  if (!arm.difference) return arm.is_baseline ? "baseline" : "";
  return (*arm.difference < 0 ? "" : "+") + number_text(*arm.difference);
}

/// Which arms a short table shows: baseline and best, then the best of the others.
std::vector<std::size_t> arms_to_show(const study::StageStatus& stage, std::size_t most) {
  std::vector<std::size_t> shown(stage.arms.size());
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() <= most) return shown;
  const auto rank = [&](std::size_t i) {
    if (stage.arms[i].is_baseline) return 0;
    if (stage.best == i) return 1;
    return stage.arms[i].counts.running > 0 ? 2 : stage.arms[i].mean ? 3 : 4;
  };
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  shown.resize(most);
  std::sort(shown.begin(), shown.end());
  return shown;
}

/// The cells of a line of the table.
struct Cells {
  std::string name, done, running, failed, value, difference;
};

std::string line_of(std::string_view mark, const Cells& cells, std::size_t name_columns) {
  return fmt::format("{}{}{}{}{}{}{}", mark, fit(cells.name, name_columns),
                     fit_right(cells.done, kDoneColumns), fit_right(cells.running, kCountColumns),
                     fit_right(cells.failed, kCountColumns), fit_right(cells.value, kValueColumns),
                     fit_right(cells.difference, kDifferenceColumns));
}

std::string if_any(std::size_t count) {
  return count > 0 ? fmt::to_string(count) : "";
}

Cells cells_of(const study::ArmStatus& arm) {
  return {.name = arm.name,
          .done = fmt::format("{}/{}", arm.counts.done, arm.counts.total()),
          .running = if_any(arm.counts.running),
          .failed = if_any(arm.counts.failed),
          .value = mean_text(arm),
          .difference = difference_text(arm)};
}

const study::StageStatus* find_stage(const study::StudyStatus& status, study::RunPurpose purpose) {
  const auto found =
      std::find_if(status.stages.begin(), status.stages.end(),
                   [&](const study::StageStatus& stage) { return stage.purpose == purpose; });
  return found == status.stages.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> stage_table(const study::StudyRecord& record,
                                     const study::StageStatus& stage, const TableSize& size) {
  std::size_t longest = kShortestName;
  for (const study::ArmStatus& arm : stage.arms) {
    longest = std::max(longest, columns_of(harmless(arm.name)));
  }
  constexpr std::size_t kOthers =
      kBest.size() + kDoneColumns + 2 * kCountColumns + kValueColumns + kDifferenceColumns;
  const std::size_t room = size.columns > kOthers ? size.columns - kOthers : 0;
  const std::size_t name_columns = std::min(longest, std::max(room, kShortestName));
  const Cells head{.name = "arm",
                   .done = "done",
                   .running = "running",
                   .failed = "failed",
                   .value = record.metric,
                   .difference = record.baseline ? "difference" : ""};
  std::vector<std::string> lines = {cut(line_of(kOther, head, name_columns), size.columns)};
  const auto shown = arms_to_show(stage, size.arms);
  for (const std::size_t index : shown) {
    const std::string_view mark = stage.best == index ? kBest : kOther;
    lines.push_back(cut(line_of(mark, cells_of(stage.arms[index]), name_columns), size.columns));
  }
  if (shown.size() < stage.arms.size()) {
    lines.push_back(fmt::format("  … and {} more arms", stage.arms.size() - shown.size()));
  }
  if (stage.best) {
    const bool finished = stage.counts.done + stage.counts.failed == stage.counts.total();
    lines.push_back(fmt::format("{}best mean{}", kBest, finished ? "" : " so far"));
  }
  return lines;
}

std::string stage_title(const study::StudyRecord& record, const study::StageStatus& stage) {
  if (stage.purpose == study::RunPurpose::kSearch) {
    return fmt::format("search, rung of {} epochs: {} arms on {} seeds", stage.epochs,
                       stage.arms.size(), record.seeds.size());
  }
  if (stage.purpose == study::RunPurpose::kConfirm) {
    return fmt::format("confirmation on {} seeds that were not used to choose",
                       record.confirmation_seeds.size());
  }
  return "";
}

std::string counts_text(const study::RunCounts& counts) {
  std::string text = fmt::format("{} of {} runs done", counts.done, counts.total());
  if (counts.running > 0) text += fmt::format(", {} running", counts.running);
  if (counts.failed > 0) text += fmt::format(", {} failed", counts.failed);
  if (counts.stopped > 0) text += fmt::format(", {} interrupted", counts.stopped);
  if (counts.waiting > 0) text += fmt::format(", {} waiting", counts.waiting);
  return text;
}

std::string purpose_text(const study::StudyRun& run) {
  if (run.purpose == study::RunPurpose::kGrid) return "";
  return fmt::format(" ({}, {} epochs)", study::purpose_name(run.purpose), run.epochs);
}

std::string run_text(const study::StudyRecord& record, const study::StudyRun& run,
                     const study::RunReport& report) {
  std::string text = fmt::format("{} seed {}{}: ", harmless(run.arm), run.seed, purpose_text(run));
  if (report.state == study::Standing::kFailed) return text + "failed: " + harmless(report.reason);
  if (report.state != study::Standing::kDone) {
    return text + fmt::format("{} after {} of {} epochs", study::state_name(report.state),
                              report.epochs_done, run.epochs);
  }
  const std::string value = report.value ? number_text(*report.value) : "is not in its summary";
  return text + fmt::format("{} {} ({})", record.metric, value, duration_text(report.seconds));
}

std::string stop_text(const study::StudyOutcome& outcome) {
  if (outcome.hopeless.empty()) return "stopped; the same command goes on where it was";
  return fmt::format(
      "stopped: {} runs failed for the same reason and none is done; when that is mended, the same "
      "command with --retry goes on\n  {}",
      outcome.failed, harmless(outcome.hopeless));
}

std::vector<std::string> growth_text(const study::StudyRecord& record) {
  if (!record.growing) return {};
  const study::SeedPlan& growing = *record.growing;
  const std::string plan =
      fmt::format("seeds are added until every paired interval is within ± {:g}; looks after {}",
                  growing.until, fmt::join(growing.planned, ", "));
  if (growing.taken.empty()) return {plan};
  const study::SeedLook& last = growing.taken.back();
  if (!last.half_width) {
    return {plan, fmt::format("after {} seeds no arm has two pairs with the baseline, so no "
                              "further ones are added",
                              last.seeds)};
  }
  const std::string found = fmt::format("after {} seeds the widest interval is ± {:.2g}, of '{}'",
                                        last.seeds, *last.half_width, harmless(last.arm));
  if (growing.is_narrow_enough()) return {plan, found + ": enough"};
  if (growing.is_settled()) return {plan, found + "; at_most allows no more seeds"};
  return {plan, fmt::format("{}; the next look is after {}", found,
                            growing.planned[growing.taken.size()])};
}

std::vector<std::string> search_text(const study::StudyRecord& record,
                                     const study::StudyStatus& status) {
  if (!record.search) return {};
  if (!record.search->winner) return {"the search has no winner yet"};
  const std::string winner = harmless(*record.search->winner);
  std::vector<std::string> lines = {
      fmt::format("the search chose '{}' by {} on {} seeds; the values it was chosen by are too "
                  "good on average",
                  winner, record.metric, record.seeds.size())};
  const study::StageStatus* stage = find_stage(status, study::RunPurpose::kConfirm);
  if (stage == nullptr || stage->counts.done == 0) {
    lines.push_back("it is not confirmed yet on seeds that were not used to choose it");
    return lines;
  }
  for (const study::ArmStatus& arm : stage->arms) {
    lines.push_back(fmt::format("on {} seeds that were not used to choose: {} {}{}{}",
                                arm.counts.done, harmless(arm.name), mean_text(arm),
                                arm.difference ? ", difference to the baseline " : "",
                                arm.is_baseline ? " (baseline)" : difference_text(arm)));
  }
  return lines;
}

}  // namespace impart::cli
