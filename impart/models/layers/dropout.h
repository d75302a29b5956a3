#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "impart/core/ids.h"

namespace impart::models {

/// Which numbers the dropout layers of a model draw: a function of the run's seed, the epoch, the
/// step, the layer, the worker and the place of the element in the worker's rows, and of nothing
/// else. So masks are the same for any number of processes, any number of threads and after a
/// resume.
struct DropoutPlan {
  /// Rows of a stacked batch that belong to one worker.
  struct Slice {
    WorkerId worker{};
    std::int64_t rows = 0;
  };

  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;
  std::vector<Slice> slices;  ///< whose rows the batch's rows are, in order; one may have none
};

/// Dropout whose mask follows a plan, not torch's global generator. In evaluation, or at rate 0, it
/// changes nothing.
///
/// The mask is drawn on the CPU, a float per element, and copied to where the activations are. On
/// the CPU drawing costs about as much as multiplying by it.
class DropoutImpl : public torch::nn::Module {
 public:
  /// Every element is 0 with probability `rate`, rounded to a multiple of 2^-16, in [0, 1).
  explicit DropoutImpl(double rate);

  /// Of activations [B, …], float or any type that floats convert to.
  torch::Tensor forward(const torch::Tensor& input);
  /// trunk + forward(branch), in one pass less.
  torch::Tensor add(const torch::Tensor& trunk, const torch::Tensor& branch);

  /// Which plan holds in the next forward passes in training; read at each of them, so its owner
  /// can change it in between. `layer` tells the model's dropout layers apart.
  void set_plan(std::shared_ptr<const DropoutPlan> plan, std::uint32_t layer);

 private:
  bool is_active() const { return is_training() && dropped_ > 0; }
  torch::Tensor draw_mask(const torch::Tensor& like) const;

  std::uint32_t dropped_;  ///< of 65536
  std::shared_ptr<const DropoutPlan> plan_;
  std::uint32_t layer_ = 0;
};
TORCH_MODULE(Dropout);

/// Gives all dropout layers of the model one plan, and numbers them from 0 in the order of the
/// model's modules. A forward pass in training throws ConfigError where a layer of rate > 0 has no
/// plan, or one whose rows are not the batch's.
void set_dropout_plan(torch::nn::Module& model, std::shared_ptr<const DropoutPlan> plan);

}  // namespace impart::models
