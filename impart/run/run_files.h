#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace impart::run {

// The small files of a run directory: summary.json, env.json, and the marker that says how the run
// ended. All are written complete or not at all. IoError if they cannot be.

/// How a run came out and what it cost. Classifiers have accuracies (percent), language models
/// perplexities and bits per byte.
struct RunSummary {
  std::optional<double> best_accuracy = {};
  std::optional<double> final_accuracy = {};
  std::optional<double> best_perplexity = {};
  std::optional<double> final_perplexity = {};
  std::optional<double> best_bits_per_byte = {};
  std::optional<double> final_bits_per_byte = {};
  std::uint32_t best_epoch = 0;  ///< counted from 0, as everywhere
  std::uint32_t epochs = 0;
  std::uint64_t examples = 0;
  std::uint32_t workers = 0;
  std::uint32_t processes = 0;
  std::uint64_t seed = 0;
  double seconds_total = 0;
  double seconds_train = 0;
  double seconds_tracking = 0;
  double seconds_partition = 0;
  double seconds_exchange = 0;
  double seconds_importance_pass = 0;  ///< of seconds_exchange: forward passes for importance
  double seconds_eval = 0;
  std::uint64_t examples_moved = 0;
  std::uint64_t bytes_disk = 0;
  std::uint64_t bytes_network = 0;
  std::uint64_t messages = 0;
  std::uint64_t peak_stored_examples = 0;
  std::string weights_sha256 = {};
};

/// Calls f(name, value) for the results that only some runs have. `Summary` may be const.
template <class Summary, class Function>
void for_each_result(Summary& s, Function&& f) {
  f("best_accuracy", s.best_accuracy);
  f("final_accuracy", s.final_accuracy);
  f("best_perplexity", s.best_perplexity);
  f("final_perplexity", s.final_perplexity);
  f("best_bits_per_byte", s.best_bits_per_byte);
  f("final_bits_per_byte", s.final_bits_per_byte);
}

/// Writes folder/summary.json: the members above under their names, those without a value left
/// out, then the members of `more`, an object.
void write_summary(const std::string& folder, const RunSummary& summary,
                   const nlohmann::ordered_json& more);

/// How a run ended. A run without a status is running, or died without a word.
enum class RunStatus { kDone, kFailed, kPreempted };

/// Leaves exactly one of DONE, FAILED, PREEMPTED in the folder, with `note` as its text.
void mark_status(const std::string& folder, RunStatus status, std::string_view note);

/// Takes the marker away: the run goes on.
void clear_status(const std::string& folder);

/// DataError if there are several markers.
std::optional<RunStatus> read_status(const std::string& folder);

/// Name and version of something a run depends on.
using Version = std::pair<std::string, std::string>;

/// Writes folder/env.json: what the run was built from and runs on (commit if known, compiler,
/// processor, cores, kernel, C library, versions), and `more`: versions that only the caller knows.
/// Names neither the machine nor its user.
void write_environment(const std::string& folder, const std::vector<Version>& more);

}  // namespace impart::run
