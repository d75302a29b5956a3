#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "impart/run/stopped_at.h"

namespace impart::run {

/// How a run came out and what it cost: the members of summary.json. Classifiers have accuracies
/// (percent), language models perplexities and bits per byte.
struct RunSummary {
  std::optional<double> best_accuracy = {};
  std::optional<double> final_accuracy = {};
  std::optional<double> best_perplexity = {};
  std::optional<double> final_perplexity = {};
  std::optional<double> best_bits_per_byte = {};
  std::optional<double> final_bits_per_byte = {};
  std::uint32_t best_epoch = 0;  ///< counted from 0, as in all files
  std::uint32_t epochs = 0;
  /// From this epoch on, counted from 0, the training loss is NaN or infinite.
  std::optional<std::uint32_t> diverged_at = {};
  /// Mean class skew of the first parts that were skewed while batch norm was each worker's own;
  /// none if there were none.
  std::optional<double> batch_norm_skew = {};
  std::optional<StoppedAt> stopped_at = {};
  std::uint64_t examples = 0;
  /// Held out of training, and what results are of; 0: results are of the test set.
  std::uint64_t validation_examples = 0;
  std::uint64_t parameters = 0;  ///< of the model
  std::uint32_t workers = 0;
  std::uint32_t processes = 0;
  std::uint64_t seed = 0;
  double seconds_start = 0;  ///< reading the data, making the model; not in seconds_total
  double seconds_total = 0;
  double seconds_train = 0;
  double seconds_tracking = 0;
  double seconds_partition = 0;
  double seconds_exchange = 0;
  double seconds_exchange_hidden = 0;  ///< examples moved behind the others; not in seconds_total
  double seconds_importance_pass = 0;  ///< of the two before: forward passes for importance
  double seconds_refresh = 0;          ///< forward passes over what a selection hid
  double seconds_dissimilarity = 0;    ///< passes that measure it (importance.dissimilarity)
  double seconds_eval = 0;
  double seconds_checkpoint = 0;
  double seconds_data_wait = 0;     ///< of seconds_train: waiting for examples; of process 0
  double seconds_other = 0;         ///< what the others leave of seconds_total
  double load_average = 0;          ///< threads that wanted to run on the machine, mean over epochs
  std::uint64_t visits = 0;         ///< of examples, in training steps
  std::uint64_t visits_hidden = 0;  ///< sum over epochs of the examples without a visit
  std::uint64_t visits_refreshed = 0;  ///< of them, that had a forward pass instead
  double visits_max_over_mean = 1;     ///< of the workers' visits in an epoch, mean over epochs
  std::uint64_t bytes_saved = 0;       ///< of payloads that were not read because of a selection
  std::uint64_t examples_moved = 0;
  std::uint64_t bytes_disk = 0;
  std::uint64_t bytes_source = 0;     ///< from the data set's own files or server
  std::uint64_t requests_source = 0;  ///< to the server of a remote data set
  std::uint64_t bytes_peers = 0;      ///< from the caches of other processes
  std::uint64_t cache_hits = 0;       ///< reads that were answered from memory, ...
  std::uint64_t cache_hits_disk = 0, cache_hits_peers = 0;  ///< ... and from elsewhere
  std::uint64_t cache_misses = 0;                           ///< ... or by the source
  std::uint64_t bytes_network = 0;
  std::uint64_t bytes_statistics = 0;  ///< of these: sums that batch norms share
  std::uint64_t bytes_weights = 0;     ///< sum over epochs of WeightCosts::bytes
  std::uint64_t messages = 0;  ///< sum over move plans of the pairs of workers that send anything
  std::uint64_t peak_stored_examples = 0;
  std::string weights_sha256 = {};
  std::string config_hash = {};
  std::uint64_t largest_part = 0;         ///< examples of the worker that has most, at the end
  std::uint64_t payload_bytes_total = 0;  ///< of the data set
};

/// What becomes of a member when a run goes on from a checkpoint.
enum class OnResume {
  kGoesOn,     ///< it is in the checkpoint, and the run adds to it or improves it
  kAnew,       ///< it is in the checkpoint, but what goes on sets its own
  kFromState,  ///< the checkpoint holds it beside the summary, or it is known only at the end
};

/// Calls f(name, member, on_resume) for every member in the order of summary.json: the one list of
/// them, which writing summaries and checkpoints and reading them go by. Results that a task does
/// not have are left out of files; `diverged_at` and `stopped_at` are null in a run that did not.
/// `Summary` may be const.
template <class Summary, class Function>
constexpr void for_each_summary_member(Summary& s, Function&& f) {
  using enum OnResume;
  f("best_accuracy", s.best_accuracy, kGoesOn);
  f("final_accuracy", s.final_accuracy, kGoesOn);
  f("best_perplexity", s.best_perplexity, kGoesOn);
  f("final_perplexity", s.final_perplexity, kGoesOn);
  f("best_bits_per_byte", s.best_bits_per_byte, kGoesOn);
  f("final_bits_per_byte", s.final_bits_per_byte, kGoesOn);
  f("best_epoch", s.best_epoch, kGoesOn);
  f("epochs", s.epochs, kGoesOn);
  f("diverged_at", s.diverged_at, kGoesOn);
  f("batch_norm_skew", s.batch_norm_skew, kGoesOn);
  f("stopped_at", s.stopped_at, kGoesOn);
  f("examples", s.examples, kGoesOn);
  f("validation_examples", s.validation_examples, kFromState);
  f("parameters", s.parameters, kAnew);
  f("workers", s.workers, kGoesOn);
  f("processes", s.processes, kAnew);
  f("seed", s.seed, kGoesOn);
  f("seconds_start", s.seconds_start, kGoesOn);
  f("seconds_total", s.seconds_total, kFromState);
  f("seconds_train", s.seconds_train, kGoesOn);
  f("seconds_tracking", s.seconds_tracking, kGoesOn);
  f("seconds_partition", s.seconds_partition, kGoesOn);
  f("seconds_exchange", s.seconds_exchange, kGoesOn);
  f("seconds_exchange_hidden", s.seconds_exchange_hidden, kGoesOn);
  f("seconds_importance_pass", s.seconds_importance_pass, kGoesOn);
  f("seconds_refresh", s.seconds_refresh, kGoesOn);
  f("seconds_dissimilarity", s.seconds_dissimilarity, kGoesOn);
  f("seconds_eval", s.seconds_eval, kGoesOn);
  f("seconds_checkpoint", s.seconds_checkpoint, kGoesOn);
  f("seconds_data_wait", s.seconds_data_wait, kGoesOn);
  f("seconds_other", s.seconds_other, kGoesOn);
  f("load_average", s.load_average, kGoesOn);
  f("visits", s.visits, kGoesOn);
  f("visits_hidden", s.visits_hidden, kGoesOn);
  f("visits_refreshed", s.visits_refreshed, kGoesOn);
  f("visits_max_over_mean", s.visits_max_over_mean, kGoesOn);
  f("bytes_saved", s.bytes_saved, kGoesOn);
  f("examples_moved", s.examples_moved, kGoesOn);
  f("bytes_disk", s.bytes_disk, kGoesOn);
  f("bytes_source", s.bytes_source, kGoesOn);
  f("requests_source", s.requests_source, kGoesOn);
  f("bytes_peers", s.bytes_peers, kGoesOn);
  f("cache_hits", s.cache_hits, kGoesOn);
  f("cache_hits_disk", s.cache_hits_disk, kGoesOn);
  f("cache_hits_peers", s.cache_hits_peers, kGoesOn);
  f("cache_misses", s.cache_misses, kGoesOn);
  f("bytes_network", s.bytes_network, kGoesOn);
  f("bytes_statistics", s.bytes_statistics, kGoesOn);
  f("bytes_weights", s.bytes_weights, kGoesOn);
  f("messages", s.messages, kGoesOn);
  f("peak_stored_examples", s.peak_stored_examples, kGoesOn);
  f("weights_sha256", s.weights_sha256, kFromState);
  f("config_hash", s.config_hash, kFromState);
  f("largest_part", s.largest_part, kFromState);
  f("payload_bytes_total", s.payload_bytes_total, kFromState);
}

/// Writes folder/summary.json, complete or not at all. IoError.
void write_summary(const std::string& folder, const RunSummary& summary);

/// What a summary.json says. Files of other versions may lack members or have more.
struct SummaryFile {
  std::map<std::string, double, std::less<>> numbers = {};  ///< also "stopped_at.epoch"
  std::optional<std::uint64_t> seed = {};                   ///< exact, where a double may not be
  std::string config_hash = {}, weights_sha256 = {};        ///< "" if it is not there

  /// Absent if there is no number of that name.
  std::optional<double> number(std::string_view name) const;
};

/// Reads folder/summary.json: the one parser of it. DataError (path) if it cannot be read or is not
/// a JSON object.
SummaryFile read_summary(const std::string& folder);

}  // namespace impart::run
