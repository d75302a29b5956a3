#include "impart/study/result_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/csv.h"
#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::study {
namespace {

using Fields = std::vector<std::string>;

constexpr std::string_view kSettingPrefix = "config.";
/// Between them are settings ("config.partition.warmup") and numbers of summary.json.
constexpr std::string_view kFirstColumns[] = {"arm",         "seed",    "purpose", "planned_epochs",
                                              "config_hash", "version", "commit"};
constexpr std::string_view kLastColumns[] = {"weights_sha256", "study",  "baseline",
                                             "metric",         "target", "looks"};

bool is_text_column(std::string_view name) {
  const auto is_it = [&](std::string_view column) { return column == name; };
  return std::any_of(std::begin(kFirstColumns), std::end(kFirstColumns), is_it) ||
         std::any_of(std::begin(kLastColumns), std::end(kLastColumns), is_it);
}

auto order_of(const StudyRun& run) {
  return std::tie(run.arm, run.seed, run.epochs, run.purpose);
}

bool comes_before(const ResultRow& row, const StudyRun& run) {
  return order_of(row.run) < order_of(run);
}

template <class Number>
Number parse(const std::string& column, const std::string& field) {
  Number number{};
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, number);
  if (error == std::errc{} && stop == end && std::isfinite(static_cast<double>(number))) {
    return number;
  }
  throw DataError(fmt::format("{} '{}' is not a {}", column, field,
                              std::is_integral_v<Number> ? "whole number from 0" : "number"));
}

std::vector<std::uint64_t> parse_looks(const std::string& field) {
  std::vector<std::uint64_t> looks;
  for (std::size_t start = 0; start < field.size();) {
    const std::size_t end = std::min(field.find(' ', start), field.size());
    looks.push_back(parse<std::uint64_t>("looks", field.substr(start, end - start)));
    start = end + 1;
  }
  return looks;
}

/// Reads line after line into a table.
class TableReader {
 public:
  explicit TableReader(std::string_view header) : columns_(split_csv_line(header)) {
    std::set<std::string_view> seen;
    for (const std::string& column : columns_) {
      if (!seen.insert(column).second) {
        throw DataError(fmt::format("the column '{}' is there twice", column));
      }
    }
    require(seen, kFirstColumns);
    require(seen, kLastColumns);
  }

  void read_line(std::string_view text, std::size_t line) {
    const Fields fields = split_csv_line(text);
    if (fields.size() != columns_.size()) {
      throw DataError(fmt::format("{} fields, but {} columns", fields.size(), columns_.size()));
    }
    Texts texts;
    ResultRow row{.run = {}, .build = {}, .summary = {}, .line = line};
    std::vector<SettingText> settings;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& column = columns_[i];
      if (is_text_column(column)) {
        texts[column] = fields[i];
      } else if (column.starts_with(kSettingPrefix)) {
        settings.emplace_back(column.substr(kSettingPrefix.size()), fields[i]);
      } else if (!fields[i].empty()) {
        row.summary.numbers[column] = parse<double>(column, fields[i]);
      }
    }
    read_run(texts, row);
    note_study(texts);
    note_arm({.name = row.run.arm, .settings = std::move(settings)});
    table_.rows.push_back(std::move(row));
  }

  ResultTable take() {
    auto& rows = table_.rows;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return comes_before(a, b.run); });
    return std::move(table_);
  }

 private:
  using Texts = std::map<std::string_view, std::string>;

  static void require(const std::set<std::string_view>& seen,
                      std::span<const std::string_view> columns) {
    for (const std::string_view column : columns) {
      if (!seen.contains(column)) throw DataError(fmt::format("there is no column '{}'", column));
    }
  }

  static void read_run(const Texts& texts, ResultRow& row) {
    row.run = {.arm = texts.at("arm"),
               .seed = parse<std::uint64_t>("seed", texts.at("seed")),
               .folder = {},
               .config_hash = texts.at("config_hash"),
               .purpose = purpose_of(texts.at("purpose")),
               .epochs = parse<std::uint32_t>("planned_epochs", texts.at("planned_epochs"))};
    if (row.run.arm.empty()) throw DataError("the arm is empty");
    const std::string& hash = row.run.config_hash;
    if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
      throw DataError(fmt::format("config_hash '{}' is not 16 hexadecimal digits", hash));
    }
    row.build = {.version = texts.at("version"), .commit = texts.at("commit")};
    row.summary.seed = row.run.seed;
    row.summary.config_hash = hash;
    row.summary.weights_sha256 = texts.at("weights_sha256");
  }

  void note_study(const Texts& texts) {
    const Fields facts = {texts.at("study"), texts.at("baseline"), texts.at("metric"),
                          texts.at("target"), texts.at("looks")};
    if (facts_.empty()) {
      StudyRecord& study = table_.study;
      study.name = facts[0];
      if (!facts[1].empty()) study.baseline = facts[1];
      study.metric = facts[2];
      if (!facts[3].empty()) study.target = parse<double>("target", facts[3]);
      const std::vector<std::uint64_t> looks = parse_looks(facts[4]);
      if (!looks.empty()) study.growing = SeedPlan{.until = 0, .planned = looks, .taken = {}};
      facts_ = facts;
    }
    if (facts_ != facts) {
      throw DataError(
          "study, baseline, metric, target and looks are not those of the rows before: a file "
          "holds one study");
    }
  }

  void note_arm(StudyArm arm) {
    auto& arms = table_.study.arms;
    const auto known = std::find_if(arms.begin(), arms.end(),
                                    [&](const StudyArm& one) { return one.name == arm.name; });
    if (known == arms.end()) {
      arms.push_back(std::move(arm));
    } else if (known->settings != arm.settings) {
      throw DataError(fmt::format("the settings of '{}' are not those before", arm.name));
    }
  }

  Fields columns_;
  Fields facts_;  ///< what all rows have in common, as text
  ResultTable table_;
};

void check_repeated(const ResultTable& table) {
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    const ResultRow& row = table.rows[i];
    if (comes_before(table.rows[i - 1], row.run)) continue;
    throw DataError(fmt::format("{}: '{}' with seed {} is on line {} already", row.line,
                                row.run.arm, row.run.seed, table.rows[i - 1].line));
  }
}

ResultTable parse_table(std::string_view text) {
  std::optional<TableReader> reader;
  for (std::size_t line = 1; !text.empty(); ++line) {
    try {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) throw DataError("the line is cut off");
      const std::string_view content = text.substr(0, end);
      if (reader) {
        reader->read_line(content, line);
      } else {
        reader.emplace(content);
      }
      text.remove_prefix(end + 1);
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: {}", line, error.what()));
    }
  }
  if (!reader) throw DataError("1: is empty; results of a study begin with a header");
  ResultTable table = reader->take();
  check_repeated(table);
  return table;
}

/// Names of numbers in the order of summary.json; what this version does not know comes last.
Fields number_columns(const ResultTable& table) {
  std::set<std::string> present = {table.study.metric};
  for (const ResultRow& row : table.rows) {
    for (const auto& [name, value] : row.summary.numbers) present.insert(name);
  }
  present.erase("seed");
  Fields columns;
  const run::RunSummary known;
  run::for_each_summary_member(known, [&](const char* name, const auto&, run::OnResume) {
    if (present.erase(name) > 0) columns.emplace_back(name);
  });
  columns.insert(columns.end(), present.begin(), present.end());
  return columns;
}

Fields setting_keys(const StudyRecord& study) {
  Fields keys;
  for (const StudyArm& arm : study.arms) {
    for (const auto& [key, value] : arm.settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

/// The arm's value of every key; "" where it has none.
Fields settings_of(const StudyRecord& study, const std::string& name, const Fields& keys) {
  Fields values(keys.size());
  for (const StudyArm& arm : study.arms) {
    if (arm.name != name) continue;
    for (const auto& [key, value] : arm.settings) {
      values[static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())] =
          value;
    }
  }
  return values;
}

std::string number_field(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void append(Fields& fields, std::span<const std::string> more) {
  fields.insert(fields.end(), more.begin(), more.end());
}

std::string to_line(const Fields& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
  return line + "\n";
}

Fields header_of(const Fields& keys, const Fields& numbers) {
  Fields header(std::begin(kFirstColumns), std::end(kFirstColumns));
  for (const std::string& key : keys) header.push_back(std::string(kSettingPrefix) + key);
  append(header, numbers);
  header.insert(header.end(), std::begin(kLastColumns), std::end(kLastColumns));
  return header;
}

/// What stands in kFirstColumns.
Fields first_fields(const ResultRow& row) {
  return {row.run.arm,
          fmt::format("{}", row.run.seed),
          std::string(purpose_name(row.run.purpose)),
          fmt::format("{}", row.run.epochs),
          row.run.config_hash,
          row.build.version,
          row.build.commit};
}

/// What stands in kLastColumns.
Fields last_fields(const ResultRow& row, const StudyRecord& study) {
  const SeedPlan looks = study.growing.value_or(SeedPlan{});
  return {row.summary.weights_sha256,  study.name,
          study.baseline.value_or(""), study.metric,
          number_field(study.target),  fmt::format("{}", fmt::join(looks.planned, " "))};
}

}  // namespace

ResultTable read_result_table(const std::string& path) {
  const InputFile file(path);
  try {
    return parse_table(file.text());
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}:{}", path, error.what()));
  }
}

std::string to_csv(const ResultTable& table) {
  const Fields keys = setting_keys(table.study);
  const Fields numbers = number_columns(table);
  std::string text = to_line(header_of(keys, numbers));
  for (const ResultRow& row : table.rows) {
    Fields fields = first_fields(row);
    append(fields, settings_of(table.study, row.run.arm, keys));
    for (const std::string& name : numbers) {
      fields.push_back(number_field(row.summary.number(name)));
    }
    append(fields, last_fields(row, table.study));
    text += to_line(fields);
  }
  return text;
}

const ResultRow* find_row(const ResultTable& table, const StudyRun& run) {
  const auto row = std::lower_bound(table.rows.begin(), table.rows.end(), run, comes_before);
  const bool found = row != table.rows.end() && order_of(row->run) == order_of(run) &&
                     row->run.config_hash == run.config_hash;
  return found ? &*row : nullptr;
}

void add_row(ResultTable& table, ResultRow row) {
  const auto place = std::lower_bound(table.rows.begin(), table.rows.end(), row.run, comes_before);
  table.rows.insert(place, std::move(row));
}

}  // namespace impart::study
