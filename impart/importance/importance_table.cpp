#include "impart/importance/importance_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/npy.h"
#include "impart/core/random.h"
#include "impart/importance/known_importance.h"
#include "impart/importance/visits.h"

namespace impart::importance {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
/// Examples whose statistics are looked at together: they stay in the nearest cache.
constexpr std::size_t kAtOnce = 64;

}  // namespace

ImportanceTable::ImportanceTable(TableSpec spec) : spec_(std::move(spec)) {
  if (spec_.notions.empty() && spec_.keeps == StateSet::kNothing) {
    throw ConfigError("an importance table needs at least one notion");
  }
  needs_ = spec_.keeps;
  for (const AnyNotion& notion : spec_.notions) needs_ = needs_ | notion.needs;
  if (overlap(needs_, StateSet::kTruth) && spec_.truth.size() != spec_.examples) {
    throw ConfigError(
        spec_.truth.empty() && spec_.examples > 0
            ? "the notion 'truth' needs a data set that knows how hard its examples are"
            : fmt::format("there are {} true difficulties for {} examples", spec_.truth.size(),
                          spec_.examples));
  }
  if (!(spec_.ema_weight > 0 && spec_.ema_weight <= 1)) {
    throw ConfigError(
        fmt::format("the weight {} of a moving average is not in (0, 1]", spec_.ema_weight));
  }
  if (spec_.history) needs_ = needs_ | StateSet::kLossMean;
  columns_ = make_columns(needs_, spec_.examples);
}

void ImportanceTable::check_batch(std::span<const ExampleId> ids, const Signals& signals) const {
  for (const SignalRow& signal : kSignals) {
    const std::size_t length = (signals.*signal.values).size();
    if (overlap(needs_, signal.needed_for()) && length != ids.size()) {
      throw DataError(fmt::format("the signal '{}' has {} values for a batch of {} examples",
                                  signal.name, length, ids.size()));
    }
  }
  std::uint64_t largest = 0;
  for (const ExampleId id : ids) largest = std::max(largest, index(id));
  if (!ids.empty() && largest >= spec_.examples) {
    throw DataError(fmt::format("example id {} is out of range: there are {} examples", largest,
                                spec_.examples));
  }
}

void ImportanceTable::observe(std::uint32_t epoch, std::span<const ExampleId> ids,
                              const Signals& signals) {
  check_batch(ids, signals);
  const SplitBatch batch = split_batch(ids, signals, needs_);
  const bool in_window = epoch >= spec_.ignore;
  if (in_window) add_window_visits(columns_, batch.finite_ids, batch.finite, scratch_);
  add_run_visits(columns_, epoch, batch.finite_ids, batch.finite, spec_.ema_weight);
  add_non_finite_visits(columns_, epoch, batch.non_finite_ids, in_window);
  non_finite_visits_ += batch.non_finite_ids.size();
  if (spec_.history) record_history(epoch, ids, signals.loss);
}

void ImportanceTable::record_history(std::uint32_t epoch, std::span<const ExampleId> ids,
                                     std::span<const float> losses) {
  while (history_.size() <= epoch) history_.emplace_back(spec_.examples, kNone);
  for (std::size_t j = 0; j < ids.size(); ++j) history_[epoch][index(ids[j])] = losses[j];
}

void ImportanceTable::merge(const ImportanceTable& other) {
  const bool same = spec_.examples == other.spec_.examples && needs_ == other.needs_ &&
                    spec_.ema_weight == other.spec_.ema_weight &&
                    window_number_ == other.window_number_;
  if (!same) {
    throw ConfigError("cannot merge importance tables of different examples, notions or windows");
  }
  for (std::uint64_t i = 0; i < spec_.examples; ++i) {
    merge_example(columns_, other.columns_, i, spec_.ema_weight);
  }
  non_finite_visits_ += other.non_finite_visits_;
  for (std::uint32_t epoch = 0; epoch < other.history_.size(); ++epoch) {
    while (history_.size() <= epoch) history_.emplace_back(spec_.examples, kNone);
    for (std::uint64_t i = 0; i < spec_.examples; ++i) {
      const float loss = other.history_[epoch][i];
      if (!std::isnan(loss)) history_[epoch][i] = loss;
    }
  }
}

ExampleStatistics ImportanceTable::statistics(ExampleId id) const {
  ExampleStatistics statistics;
  read(index(id), std::span(&statistics, 1));
  return statistics;
}

/// What is known of the examples from `first` on; fields of which nothing is kept are left alone.
void ImportanceTable::read(std::uint64_t first, std::span<ExampleStatistics> into) const {
  read_statistics(columns_, first, into);
  if (spec_.truth.empty()) return;
  for (std::size_t j = 0; j < into.size(); ++j) into[j].truth = double{spec_.truth[first + j]};
}

/// By the notion at that position: what is known now or was known at the end of the last window;
/// NaN where nothing was ever known.
std::vector<float> ImportanceTable::known_importance(std::size_t position) const {
  const AnyNotion& notion = spec_.notions[position];
  std::vector<float> known(spec_.examples, kNone);
  const auto evaluate = [&](const auto& function) {
    RandomStream random(
        {.seed = spec_.seed, .purpose = Purpose("notion"), .epoch = window_number_});
    const bool is_noisy = overlap(notion.needs, StateSet::kNoise);
    bool any = false;
    std::array<ExampleStatistics, kAtOnce> block;
    for (std::uint64_t first = 0; first < spec_.examples; first += kAtOnce) {
      const std::size_t size = std::min<std::uint64_t>(kAtOnce, spec_.examples - first);
      read(first, std::span(block).first(size));
      for (std::size_t j = 0; j < size; ++j) {
        if (is_noisy) block[j].noise = random.uniform();
        known[first + j] = static_cast<float>(function(block[j]));
        any = any || !std::isnan(known[first + j]);
      }
    }
    return any;
  };
  // A plain function is called as such: std::function costs a few per cent here.
  const auto evaluate_any = [&](const std::function<Notion>& function) {
    Notion* const* const plain = function.target<Notion*>();
    return plain != nullptr ? evaluate(*plain) : evaluate(function);
  };
  if (!evaluate_any(notion.function) && notion.fallback) evaluate_any(notion.fallback);

  const auto non_finite = overlap(notion.needs, kAnySignal) ? std::span(columns_.non_finite)
                                                            : std::span<const std::uint32_t>();
  const auto previous =
      previous_.empty() ? std::span<const float>() : std::span(previous_[position]);
  settle_importance(known, non_finite, previous);
  return known;
}

std::size_t ImportanceTable::position_of(std::string_view notion) const {
  std::vector<std::string_view> names;
  for (const AnyNotion& entry : spec_.notions) names.push_back(entry.name);
  const auto found = std::find(names.begin(), names.end(), notion);
  if (found == names.end()) throw_unknown_name("notion of this table", notion, names);
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<float> ImportanceTable::importance(std::string_view notion) const {
  std::vector<float> values = known_importance(position_of(notion));
  fill_unknown(values);
  return values;
}

std::vector<float> ImportanceTable::known_importance(std::string_view notion) const {
  const std::size_t position = position_of(notion);
  std::vector<float> values = known_importance(position);
  const bool is_seen = overlap(spec_.notions[position].needs, kAnySignal);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const bool diverged = is_seen && columns_.non_finite[i] > 0;
    if (diverged || std::isnan(values[i])) values[i] = std::numeric_limits<float>::infinity();
  }
  return values;
}

std::vector<std::uint8_t> ImportanceTable::last_correct() const {
  std::vector<std::uint8_t> correct;
  correct.reserve(columns_.correctness.size());
  for (const std::uint8_t bits : columns_.correctness) {
    correct.push_back((bits & Columns::kLastCorrect) != 0 ? 1 : 0);
  }
  return correct;
}

std::vector<float> ImportanceTable::close_window(std::string_view notion) {
  const std::size_t position = position_of(notion);
  close_window();
  std::vector<float> values = previous_[position];
  fill_unknown(values);
  return values;
}

void ImportanceTable::close_window() {
  std::vector<std::vector<float>> known;
  for (std::size_t i = 0; i < spec_.notions.size(); ++i) known.push_back(known_importance(i));
  previous_ = std::move(known);
  ++window_number_;
  if (spec_.window == WindowKind::kRun) return;
  for_each_column(columns_, [](std::string_view, auto& column, Scope scope, StateSet) {
    if (scope == Scope::kWindow) std::fill(column.begin(), column.end(), 0);
  });
}

void write_importance_csv(const std::string& path, const ImportanceTable& table) {
  std::vector<std::vector<float>> columns;
  std::string header = "id,visits";
  for (const AnyNotion& notion : table.spec().notions) {
    columns.push_back(table.importance(notion.name));
    header += fmt::format(",{}", notion.name);
  }
  OutputFile file(path);
  file.write(header + "\n");
  for (std::uint64_t i = 0; i < table.spec().examples; ++i) {
    std::string line = fmt::format("{},{}", i, table.statistics(ExampleId{i}).visits);
    for (const auto& column : columns) line += fmt::format(",{}", column[i]);
    file.write(line + "\n");
  }
  file.commit();
}

void write_history(const std::string& path, const ImportanceTable& table) {
  const auto& history = table.losses_by_epoch();
  const std::array<std::uint64_t, 2> shape = {table.spec().examples, history.size()};
  OutputFile file(path);
  file.write(npy_header("f4", shape));
  std::vector<float> row(history.size());
  for (std::uint64_t i = 0; i < table.spec().examples; ++i) {
    for (std::size_t epoch = 0; epoch < history.size(); ++epoch) row[epoch] = history[epoch][i];
    file.write(std::as_bytes(std::span(row)));
  }
  file.commit();
}

std::vector<std::vector<float>> read_history(const std::string& path) {
  const InputFile file(path);
  const NpyArray array = parse_npy(file);
  if (array.type != "f4" || array.shape.size() != 2 || array.fortran_order || array.data.empty()) {
    throw DataError(path + ": not float32 of shape (examples, epochs)");
  }
  std::vector<std::vector<float>> history(array.shape[1], std::vector<float>(array.shape[0]));
  const std::byte* next = array.data.data();
  for (std::uint64_t i = 0; i < array.shape[0]; ++i) {
    for (auto& losses : history) {
      std::memcpy(&losses[i], next, sizeof(float));
      next += sizeof(float);
    }
  }
  return history;
}

}  // namespace impart::importance
