#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "impart/placement/placement.h"
#include "impart/run/stopped_at.h"

namespace impart::run {

/// What one epoch came to: a line of metrics.jsonl.
struct EpochRecord {
  std::uint32_t epoch = 0;  ///< counted from 0, as in all files
  std::uint64_t step = 0;   ///< of the run, after the epoch
  double learning_rate = 0;
  double train_loss = 0, train_accuracy = 0;
  std::optional<double> test_loss = {}, test_accuracy = {};
  std::optional<double> test_perplexity = {}, test_bits_per_byte = {};  ///< of language
  /// Mean over workers of |g_k - g|² / |g|², g_k being a worker's gradient and g the mean of them;
  /// where it was measured.
  std::optional<double> dissimilarity = {};
  /// Of workers that train apart: how often their models became one, and how far they had come
  /// apart before, mean over these moments and the workers of ‖θ_k − θ̄‖ / ‖θ̄‖.
  std::optional<std::uint64_t> syncs = {};
  std::optional<double> replica_divergence = {};
  std::vector<double> worker_scores = {};  ///< of each worker's own model, before the last of these
  std::uint64_t non_finite = 0;            ///< visits with a NaN or infinite signal
  std::uint64_t skipped = 0;               ///< examples that could not be read
  /// What happened to the partition before the epoch, or null.
  const placement::PlacementChange* change = nullptr;
  double seconds_train = 0, seconds = 0;
  std::optional<StoppedAt> stopped_at = {};  ///< in the last epoch of a run that stopped
};

/// Calls f(name, value, tag) for every member in the order of metrics.jsonl: the one list of them.
/// Those without a value are left out of the line. The tag is the name in TensorBoard, "" if it is
/// not shown there.
template <class Function>
void for_each_epoch_member(const EpochRecord& r, Function&& f) {
  f("epoch", r.epoch, "");
  f("step", r.step, "");
  f("learning_rate", r.learning_rate, "train/learning_rate");
  f("train_loss", r.train_loss, "train/loss");
  f("train_accuracy", r.train_accuracy, "train/accuracy");
  f("test_loss", r.test_loss, "test/loss");
  f("test_accuracy", r.test_accuracy, "test/accuracy");
  f("test_perplexity", r.test_perplexity, "test/perplexity");
  f("test_bits_per_byte", r.test_bits_per_byte, "test/bits_per_byte");
  f("syncs", r.syncs, "");
  f("replica_divergence", r.replica_divergence, "replicas/divergence");
  f("worker_scores", r.worker_scores, "");
  f("dissimilarity", r.dissimilarity, "train/dissimilarity");
  f("non_finite", r.non_finite, "");
  f("skipped", r.skipped > 0 ? std::optional(r.skipped) : std::nullopt, "");
  f("placement", r.change, "");
  f("seconds_train", r.seconds_train, "");
  f("seconds", r.seconds, "");
  f("stopped_at", r.stopped_at, "");
}

/// Calls f(name, number, tag) for what is recorded of a change besides its kind: by name in
/// metrics.jsonl, in this order in a checkpoint. `Change` may be const.
template <class Change, class Function>
void for_each_change_member(Change& c, Function&& f) {
  f("moved", c.moved, "placement/moved");
  f("messages", c.messages, "");
  f("imbalance_cv", c.imbalance_cv, "placement/imbalance_cv");
  f("imbalance_ks", c.imbalance_ks, "");
  f("class_skew", c.class_skew, "placement/class_skew");
  f("mean_class_skew", c.mean_class_skew, "");
  f("size_spread", c.size_spread, "");
  f("mixed", c.mixed, "placement/mixed");
  f("seen", c.seen, "placement/seen");
}

/// "random", "heuristic", "exchange", "start".
std::string_view name_of(placement::ScheduleEvent::Kind kind);

/// The line of metrics.jsonl.
nlohmann::ordered_json epoch_line(const EpochRecord& record);

}  // namespace impart::run
