// What `impart io RUN` shows: predicted beside measured.

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/io/csv.h"
#include "cli/io/output.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

/// -0.4 % as "-0.40 %"; nothing can be said where nothing was predicted.
std::string deviation_text(double deviation) {
  const char* mark = std::abs(deviation) > cost::kDeviationToMark ? " !" : "  ";
  return std::isinf(deviation) ? fmt::format("inf{}", mark)
                               : fmt::format("{:+.2f} %{}", 100 * deviation, mark);
}

std::string peak_text(const cost::RunIo& run) {
  std::string text = fmt::format("peak stored: {} examples", run.peak_stored);
  if (!run.peak_bound) return text;
  if (run.peak_stored > *run.peak_bound) {
    return text + fmt::format(", but only {} allowed !", *run.peak_bound);
  }
  return text + fmt::format(", at most {} allowed", *run.peak_bound);
}

void print_run(const cost::RunIo& run, bool raw) {
  answer("{}: {}, {} epochs\n", run.folder, run.store, run.epochs);
  if (!run.comparisons.empty()) {
    TextTable table({"", "predicted", "measured", "deviation", "worst epoch", ""});
    for (const cost::IoComparison& row : run.comparisons) {
      const auto text = [&](double value) {
        return row.is_bytes ? bytes_text(value, raw) : count_text(value);
      };
      table.add({std::string(row.quantity), text(row.predicted), text(row.measured),
                 deviation_text(row.deviation()), deviation_text(row.worst_deviation),
                 row.worst_deviation == 0 ? "" : fmt::format("(epoch {})", row.worst_epoch + 1)});
    }
    answer("{}", table.text());
  }
  if (run.peak_stored > 0) answer("{}\n", peak_text(run));
  for (const std::string& note : run.notes) answer("note: {}\n", note);
}

Json flat_comparison(const cost::RunIo& run, const cost::IoComparison& row) {
  return {{"run", run.folder},
          {"store", run.store},
          {"epochs", run.epochs},
          {"quantity", row.quantity},
          {"predicted", row.predicted},
          {"measured", row.measured},
          {"deviation", row.deviation()},
          {"worst_deviation", row.worst_deviation},
          {"worst_epoch", row.worst_epoch}};
}

Json run_json(const cost::RunIo& run) {
  Json json = {{"run", run.folder},           {"store", run.store},
               {"epochs", run.epochs},        {"peak_stored", run.peak_stored},
               {"peak_bound", nullptr},       {"notes", run.notes},
               {"comparisons", Json::array()}};
  if (run.peak_bound) json["peak_bound"] = *run.peak_bound;
  for (const cost::IoComparison& row : run.comparisons) {
    json["comparisons"].push_back(flat_comparison(run, row));
  }
  return json;
}

}  // namespace

void print_comparisons(const std::vector<cost::RunIo>& runs, const IoOutput& output) {
  if (output.format == IoFormat::kTable) {
    for (const cost::RunIo& run : runs) {
      if (&run != &runs.front()) answer("\n");
      print_run(run, output.raw_bytes);
    }
    return;
  }
  Json rows = Json::array();
  Json all = Json::array();
  for (const cost::RunIo& run : runs) {
    for (const cost::IoComparison& row : run.comparisons) rows.push_back(flat_comparison(run, row));
    all.push_back(run_json(run));
  }
  if (output.format == IoFormat::kCsv) {
    print_csv(rows, keys_of(flat_comparison({}, {})));
  } else {
    answer("{}\n", all.dump(2));
  }
}

}  // namespace impart::cli
