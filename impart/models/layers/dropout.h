#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "impart/core/ids.h"

namespace impart::models {

struct DeviceDropoutSpec;

/// Which numbers the dropout layers of a model draw: a function of the run's seed, the epoch, the
/// step, the layer, the worker and the place of the element in the worker's rows, and of nothing
/// else. So masks are the same for any number of processes, any number of threads and after a
/// resume.
struct DropoutPlan {
  /// Rows of a stacked batch that belong to one worker.
  struct Slice {
    WorkerId worker{};
    std::int64_t rows = 0;

    bool operator==(const Slice&) const = default;
  };

  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;
  std::vector<Slice> slices;  ///< whose rows the batch's rows are, in order; one may have none
  /// A cuda::DropoutKey on a GPU, as put_key_on_device leaves it there; undefined: masks are drawn
  /// on the host.
  torch::Tensor device_key = {};
};

/// Lets layers on this GPU draw their masks there from now on: recorded work draws those of the
/// step that was put last. To be called whenever epoch or step have changed, on the stream of the
/// passes that follow.
void put_key_on_device(DropoutPlan& plan, torch::Device device);

/// Dropout whose mask follows a plan, not torch's global generator. In evaluation, or at rate 0, it
/// changes nothing.
///
/// On the CPU the mask is drawn as a float per element, which costs about as much as multiplying by
/// it. On a GPU it is never stored, but drawn again on the way back, where the plan has a key
/// there; else it is copied from the host.
class DropoutImpl : public torch::nn::Module {
 public:
  /// Every element is 0 with probability `rate`, rounded to a multiple of 2^-16, in [0, 1).
  explicit DropoutImpl(double rate);

  /// Of activations [B, …], float or any type that floats convert to.
  torch::Tensor forward(const torch::Tensor& input) const;
  /// trunk + forward(branch), in one pass less.
  torch::Tensor add(const torch::Tensor& trunk, const torch::Tensor& branch) const;

  /// Which plan holds in the next forward passes in training; read at each of them, so its owner
  /// can change it in between. `layer` tells the model's dropout layers apart.
  void set_plan(std::shared_ptr<const DropoutPlan> plan, std::uint32_t layer);

  bool drops() const { return dropped_ > 0; }  ///< in training

 private:
  bool is_active() const { return is_training() && drops(); }
  torch::Tensor draw_mask(const torch::Tensor& like) const;
  DeviceDropoutSpec device_spec() const;
  float kept() const;

  std::uint32_t dropped_;  ///< of 65536
  std::shared_ptr<const DropoutPlan> plan_;
  std::uint32_t layer_ = 0;
};
TORCH_MODULE(Dropout);

/// Gives all dropout layers of the model one plan, and numbers them from 0 in the order of the
/// model's modules. Returns whether any of them drops something. A forward pass in training throws
/// ConfigError where a layer of rate > 0 has no plan, or one whose rows are not the batch's.
bool set_dropout_plan(torch::nn::Module& model, std::shared_ptr<const DropoutPlan> plan);

}  // namespace impart::models
