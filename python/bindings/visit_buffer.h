#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/importance/logit_signals.h"

namespace impart::python {

/// Visits of examples with their signals that an importance table has not seen yet: those of an
/// epoch under way, until the processes bring them together. 8 + 4·signals bytes per visit.
class VisitBuffer {
 public:
  /// For a table of so many examples with these needs.
  VisitBuffer(std::uint64_t examples, importance::StateSet needs);

  struct Batch {
    std::span<const std::int64_t> ids = {};
    importance::ForwardRows rows = {};  ///< without logits: only losses
    bool allow_duplicates = false;
  };
  /// Adds one visit of each example of a batch. DataError, and no change, if an id is negative, out
  /// of range or there twice, or the rows do not have what the signals need.
  void add(const Batch& batch);

  /// Adds visits whose signals, [signals, ids], are known. The same errors.
  void add_signals(std::span<const std::int64_t> ids, std::span<const float> values,
                   bool allow_duplicates);

  std::size_t size() const { return ids_.size(); }
  std::size_t signals() const { return values_.size(); }
  const std::vector<ExampleId>& ids() const { return ids_; }
  /// [signals, visits], one signal after the other.
  std::vector<float> values() const;
  void clear();

 private:
  void check_ids(std::span<const std::int64_t> ids, bool allow_duplicates);
  std::vector<float> signals_of_losses(std::span<const float> losses, std::size_t examples) const;
  void append(std::span<const std::int64_t> ids, std::span<const float> values);

  std::uint64_t examples_;
  importance::StateSet needs_;
  std::vector<ExampleId> ids_;
  std::vector<std::vector<float>> values_;  ///< by signal
  std::vector<std::int64_t> sorted_;        ///< working memory
};

}  // namespace impart::python
