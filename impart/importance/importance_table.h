#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/ids.h"
#include "impart/importance/columns.h"
#include "impart/importance/notions.h"
#include "impart/importance/signals.h"

namespace impart::importance {

enum class WindowKind {
  kInterval,  ///< importance comes from the visits since the window was opened
  kRun,       ///< importance comes from all visits of the run
};

/// Of which examples a table keeps what.
struct TableSpec {
  std::uint64_t examples = 0;
  std::vector<AnyNotion> notions = {};  ///< rows of kNotions, or your own
  StateSet keeps = StateSet::kNothing;  ///< besides what the notions need, for `statistics`
  std::uint32_t ignore = 0;             ///< visits in earlier epochs do not count for windows
  WindowKind window = WindowKind::kInterval;
  float ema_weight = 0.3f;  ///< of a new loss in `loss-ema`
  std::uint64_t seed = 0;   ///< `random` draws from the stream (seed, "notion", window number)
  std::vector<float> truth = {};  ///< the data set's own difficulty, for `truth`
  bool history = false;           ///< keep every loss (4 bytes per example and epoch)
};

/// Learns how important every example is from the signals of its visits. O(1) state per example,
/// and only the columns that the chosen notions need.
///
/// Not safe for calls from several threads at once.
class ImportanceTable {
 public:
  /// ConfigError if there is no notion, or `truth` is asked for and not given.
  explicit ImportanceTable(TableSpec spec);

  /// One visit of each id of a batch; an id that comes twice was visited twice. Visits with a NaN
  /// or infinite signal are counted as such, as wrong for `forgetting`, and otherwise left out.
  /// DataError, and no change, if an id is out of range or a needed signal has another length.
  void observe(std::uint32_t epoch, std::span<const ExampleId> ids, const Signals& signals);

  /// Adds the visits that another table of the same spec has seen in the same window: see
  /// merge_example. The two must have seen different visits, as the tables of two processes that
  /// start empty do; examples that both visited are fine. ConfigError if the specs differ.
  void merge(const ImportanceTable& other);

  /// The importance of every example by the notion of that name, which must be one of the spec's.
  ///
  /// An example about which the window says nothing keeps the importance of the last window, or has
  /// the mean of the others if it never had one. An example that had a NaN or infinite signal in
  /// the window has the largest importance of the others.
  std::vector<float> importance(std::string_view notion) const;

  /// The same for decisions that must not guess: infinite where nothing was ever known, and where a
  /// signal was NaN or infinite in the window.
  std::vector<float> known_importance(std::string_view notion) const;
  /// By example: whether its last visit was right. Needs StateSet::kForgetting.
  std::vector<std::uint8_t> last_correct() const;

  /// Ends the window: remembers its importance, and forgets its visits (WindowKind::kInterval).
  void close_window();
  /// The same; returns what importance(notion) was before, without computing it a second time.
  std::vector<float> close_window(std::string_view notion);

  /// Visits with a NaN or infinite signal in the run, for reports.
  std::uint64_t non_finite_visits() const { return non_finite_visits_; }

  const TableSpec& spec() const { return spec_; }
  /// What its visits must bring: the notions' needs, spec.keeps, and the loss for a history.
  StateSet needs() const { return needs_; }
  /// What is known of one example, in the window and the run.
  ExampleStatistics statistics(ExampleId id) const;
  /// With spec.history: losses_by_epoch()[t][i] is the last loss of example i in epoch t, NaN if it
  /// was not visited.
  const std::vector<std::vector<float>>& losses_by_epoch() const { return history_; }

 private:
  friend struct TableFile;  // saves and loads the state

  void check_batch(std::span<const ExampleId> ids, const Signals& signals) const;
  void record_history(std::uint32_t epoch, std::span<const ExampleId> ids,
                      std::span<const float> losses);
  std::vector<float> known_importance(std::size_t notion) const;
  void read(std::uint64_t first, std::span<ExampleStatistics> into) const;
  std::size_t position_of(std::string_view notion) const;

  TableSpec spec_;
  StateSet needs_ = StateSet::kNothing;
  Columns columns_;
  std::uint32_t window_number_ = 0;
  std::uint64_t non_finite_visits_ = 0;
  /// By notion: importance at the end of the last window, NaN where none was known; empty in the
  /// first window.
  std::vector<std::vector<float>> previous_;
  std::vector<std::vector<float>> history_;
  std::vector<float> scratch_;
};

/// The importance by every notion of the table, one column each, as CSV: id,visits,NOTION,…
void write_importance_csv(const std::string& path, const ImportanceTable& table);

/// The full history as a two-dimensional .npy array, example × epoch.
void write_history(const std::string& path, const ImportanceTable& table);
/// Such a file as losses_by_epoch(). DataError if it is not what it should be, or holds nothing.
std::vector<std::vector<float>> read_history(const std::string& path);

}  // namespace impart::importance
