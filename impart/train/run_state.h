#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "impart/models/classifier.h"
#include "impart/placement/placement.h"
#include "impart/run/summary.h"
#include "impart/train/steps/step.h"
#include "impart/trained/trained_model.h"

namespace impart::train {

/// What a checkpoint holds besides the model, the partition and the importance table. The state is
/// that of the whole run, not of a process, so a run may be resumed on another number of processes.
struct RunState {
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;         ///< next step of the epoch
  std::uint64_t total_steps = 0;  ///< of the run
  std::string config_hash;
  run::RunSummary summary = {};  ///< so far
  std::optional<placement::PlacementChange> change =
      {};  ///< before the epoch under way; without its importance
  double seconds_total = 0;
  int threads = 0;                     ///< of process 0; 0 in checkpoints that do not say
  std::vector<SyncRecord> syncs = {};  ///< of the epoch under way
  /// Visits of an epoch under way that the table has not seen yet: ids, and signals [S, ids].
  std::vector<ExampleId> visit_ids = {};
  std::vector<float> visit_values = {};
  std::vector<std::uint32_t> times_hidden = {};  ///< EpochSelection::times_hidden
  std::vector<std::pair<std::string, torch::Tensor>> tensors = {};  ///< Engine::gather_state
};

/// What else a checkpoint holds.
struct CheckpointParts {
  const placement::Placement& placement;
  models::Classifier& model;
  trained::ModelCard card;
  data::TokenizerPtr tokenizer;  ///< null if there is none
};

/// Writes a checkpoint (see checkpoint.h) with the files
///   model.safetensors      parameters and running statistics, as torchvision names them
///   model.json             what else is needed to use the model
///   tokenizer.txt          of text, unless it came as tokens
///   training.safetensors   optimiser, workers' statistics and replicas, visits, what was hidden
///   importance.table, partition.npy, dealt_by.npy, state.json
void save_run_state(const std::string& run_folder, const RunState& state,
                    const CheckpointParts& parts, std::uint32_t keep);

/// Loads it into the placement and the model. DataError if something is missing or does not fit.
RunState load_run_state(const std::string& checkpoint, placement::Placement& placement,
                        models::Classifier& model);

}  // namespace impart::train
