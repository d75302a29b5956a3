#include "impart/run/gather_visits.h"

#include <optional>

#include "impart/placement/hosted_workers.h"

namespace impart::run {
namespace {

/// Visits of a piece: their numbers stay in the nearest caches.
constexpr std::size_t kAtOnce = 4096;

using Show = std::function<void(const Visits& piece)>;

/// Lines up visits, and shows them as soon as there are enough.
class PieceMaker {
 public:
  PieceMaker(std::size_t signals, const Show& show) : columns_(signals), show_(show) {}

  /// Signal s of the visit is values[s * stride]. The visits of a piece have steps, or none has.
  void add(ExampleId id, std::optional<std::uint32_t> step, const float* values,
           std::size_t stride) {
    piece_.ids.push_back(id);
    if (step) piece_.steps.push_back(*step);
    for (std::size_t s = 0; s < columns_.size(); ++s) columns_[s].push_back(values[s * stride]);
    if (piece_.ids.size() == kAtOnce) finish();
  }

  void finish() {
    if (piece_.ids.empty()) return;
    piece_.values.clear();
    for (std::vector<float>& column : columns_) {
      piece_.values.insert(piece_.values.end(), column.begin(), column.end());
      column.clear();
    }
    show_(piece_);
    piece_.ids.clear();
    piece_.steps.clear();
  }

 private:
  Visits piece_;
  std::vector<std::vector<float>> columns_;  ///< by signal
  const Show& show_;
};

/// Calls visit(id, step, is_observed) for every row of a process.
template <class Visit>
void for_each_row(const GatherVisitsSpec& spec, const placement::HostedWorkers& hosted,
                  Visit&& visit) {
  for (std::uint32_t step = spec.first_step; step < spec.last_step; ++step) {
    for (std::uint32_t i = 0; i < hosted.count; ++i) {
      const WorkerId worker{hosted.first + i};
      const auto batch = spec.plan->batch_of(worker, step);
      for (std::size_t row = 0; row < batch.size(); ++row) {
        visit(batch[row], step, spec.plan->is_observed(worker, step, row));
      }
    }
  }
}

std::size_t count_rows(const GatherVisitsSpec& spec, const placement::HostedWorkers& hosted) {
  std::size_t rows = 0;
  for (std::uint32_t i = 0; i < hosted.count; ++i) {
    rows += spec.plan->visits_between(WorkerId{hosted.first + i}, spec.first_step, spec.last_step);
  }
  return rows;
}

}  // namespace

void show_visits(const GatherVisitsSpec& spec, comm::Communicator& communicator, const Show& show) {
  std::vector<placement::HostedWorkers> hosted;
  std::vector<std::size_t> rows, counts;
  std::size_t total = 0;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    hosted.push_back(placement::hosted_workers(spec.plan->workers(), rank, communicator.size()));
    rows.push_back(count_rows(spec, hosted.back()));
    counts.push_back(spec.signals * rows.back());
    total += counts.back();
  }
  std::vector<float> all(total);
  communicator.all_gather(spec.mine, counts, std::span<float>(all));

  PieceMaker pieces(spec.signals, show);
  const std::size_t earlier = spec.earlier == nullptr ? 0 : spec.earlier->ids.size();
  for (std::size_t i = 0; i < earlier; ++i) {
    pieces.add(spec.earlier->ids[i], {}, &spec.earlier->values[i], earlier);
  }
  pieces.finish();
  const bool skips = spec.skipped != nullptr && !spec.skipped->empty();
  const float* block = all.data();  // of a process: [signal][row]
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    const float* values = block;
    for_each_row(spec, hosted[rank], [&](ExampleId id, std::uint32_t step, bool is_observed) {
      const bool is_skipped = skips && (*spec.skipped)[index(id)];
      if (is_observed && !is_skipped) pieces.add(id, step, values, rows[rank]);
      ++values;
    });
    block += counts[rank];
  }
  pieces.finish();
}

Visits gather_visits(const GatherVisitsSpec& spec, comm::Communicator& communicator) {
  Visits visits;
  std::vector<std::vector<float>> columns(spec.signals);
  show_visits(spec, communicator, [&](const Visits& piece) {
    visits.ids.insert(visits.ids.end(), piece.ids.begin(), piece.ids.end());
    const std::size_t size = piece.ids.size();
    for (std::size_t s = 0; s < spec.signals; ++s) {
      const auto values = std::span(piece.values).subspan(s * size, size);
      columns[s].insert(columns[s].end(), values.begin(), values.end());
    }
  });
  for (const std::vector<float>& column : columns) {
    visits.values.insert(visits.values.end(), column.begin(), column.end());
  }
  return visits;
}

}  // namespace impart::run
