#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/epoch_passes.h"
#include "impart/train/steps/norm_exchange.h"
#include "impart/train/update/flat_parameters.h"
#include "impart/train/update/half_weights.h"
#include "impart/train/update/optimizer.h"

namespace impart::train {

/// What a checkpoint keeps: tensors on the host, and how one is found again by its name.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;
using FindTensor = std::function<torch::Tensor(const std::string&)>;

/// A moment at which workers that train apart agreed on common weights.
struct SyncRecord {
  std::uint32_t step = 0;  ///< of the epoch, after which it was
  /// How far they had come apart: the mean over the workers of ‖θ_k − θ̄‖ / ‖θ̄‖.
  double divergence = 0;
};

/// What steps work with; it belongs to the engine, and outlives them.
struct StepContext {
  const config::RunConfig* config = nullptr;
  const placement::OwnRows* own = nullptr;
  comm::Communicator* communicator = nullptr;
  models::Classifier* model = nullptr;
  feed::Feed* feed = nullptr;
  const SignalSet* signals = nullptr;  ///< null: none are collected
  placement::HostedWorkers hosted = {};
  EpochPasses* passes = nullptr;
  NormExchange* norms = nullptr;
  FlatParameters* parameters = nullptr;
  HalfWeights* half_weights = nullptr;  ///< null: the model computes in float
  Optimizer* optimizer = nullptr;       ///< of the weights that all workers share
  PhaseClock* clock = nullptr;
  /// Told what a user should know; null or empty: nobody is.
  const std::function<void(const std::string&)>* note = nullptr;
  bool apart = false;  ///< every worker trains weights of its own
};

/// A kind of training step: how the gradients of a step's passes become the next weights. Each has
/// a file of its own here; choose_step says when it is taken.
class Step {
 public:
  virtual ~Step() = default;

  /// After the passes of the epoch are planned.
  virtual void begin_epoch() = 0;
  /// One step of the epoch. Collective: every process calls it, in the same order.
  virtual void run(std::uint32_t step, double learning_rate) = 0;
  /// Afterwards all workers have the same weights.
  /// Collective: every process calls it, in the same order.
  virtual void end_epoch() {}
  /// The signals of the epoch's first rows, on the host.
  virtual torch::Tensor collected(std::int64_t rows) const = 0;
  /// When workers that train apart agreed in this epoch.
  virtual std::vector<SyncRecord> syncs() const { return {}; }
  /// Those of the epoch before the run went on in it.
  virtual void set_syncs(std::vector<SyncRecord> /*syncs*/) {}
  /// Lets the model compute with the weights of any worker of the run, or of none: those that all
  /// agreed on. Collective: every process calls it, in the same order.
  virtual void show_worker(std::optional<std::uint32_t> /*worker*/) {}

  /// Adds what a checkpoint must keep of it, of all workers of the run; and the reverse.
  /// Collective: every process calls it, in the same order.
  virtual void gather_state(NamedTensors& /*state*/) {}
  virtual void restore_state(const FindTensor& /*find*/) {}
};

/// Makes a kind of step.
using StepMaker = std::unique_ptr<Step>(const StepContext& context);

/// All passes of a step add to one gradient, which is summed over the processes while the last
/// backward pass runs.
StepMaker make_shared_step;
/// Worker by worker, and their gradients are added up in an order that does not matter: the same
/// bits for every number of processes.
StepMaker make_exact_step;
/// Every worker changes weights of its own, with an optimiser of its own; they become one now and
/// then, as workers.sync says.
StepMaker make_local_step;

/// The kind that the config, the device and the data allow; the fastest if there are several.
/// ConfigError if the config wants what cannot be.
/// Collective: every process calls it, in the same order.
std::unique_ptr<Step> choose_step(const StepContext& context);

/// What kinds of steps share: the optimiser changes the weights by the gradients, which are summed.
void update_weights(const StepContext& context, double learning_rate);
/// After the weights have changed.
void refresh_half_weights(const StepContext& context);

/// Most examples of one pass.
std::int64_t most_rows(const config::WorkersConfig& workers, torch::Device device);

bool is_exact(const config::WorkersConfig& workers);

}  // namespace impart::train
