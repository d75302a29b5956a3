// Images that are on a GPU, or come there in turn: own kernels gather a batch and take its
// measures.

#include <torch/torch.h>

#include "impart/cuda/signals.h"
#include "impart/models/layers/layers.h"
#include "impart/models/module_tree.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/device/device_rows.h"
#include "impart/train/device/image_batch.h"

namespace impart::train {
namespace {

class ImageRows final : public DeviceRows {
 public:
  explicit ImageRows(const DeviceRowsSpec& spec) : DeviceRows(spec) { give_side_stream(&side_); }
  ~ImageRows() override { give_side_stream(nullptr); }

  void differentiate(const models::WorkerLayout& layout, DeviceUpdate& update) override {
    const auto output = spec_.model->forward(make_image_batch({.images = &images_,
                                                               .ids = ids_,
                                                               .choices = choices_,
                                                               .step = update.state(),
                                                               .rows = layout.starts.back(),
                                                               .half = spec_.half}));
    const torch::Tensor gradient = measure(output, update);
    output.logits.backward(gradient);
    side_.join();
  }

 private:
  bool take_data(const feed::DevicePlan& plan) override {
    const bool stayed = images_.pixels.is_same(plan.images->pixels);
    images_ = *plan.images;
    return stayed;
  }

  void give_side_stream(tensors::SideStream* side) {
    models::visit_modules(*spec_.model, [&](const std::string&, torch::nn::Module& module) {
      if (auto* layer = module.as<models::ConvolutionImpl>()) layer->set_side_stream(side);
    });
  }

  /// Collects the signals and returns the gradient of the step's loss by the logits.
  torch::Tensor measure(const models::Classifier::Output& output, DeviceUpdate& update) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor logits = output.logits.detach().contiguous();
    const torch::Tensor features = output.features.detach().contiguous();
    torch::Tensor gradient = torch::empty_like(logits);
    cuda::MeasureSignals call{.logits = logits.data_ptr<float>(),
                              .rows = logits.size(0),
                              .classes = logits.size(1),
                              .features = features.data_ptr<float>(),
                              .feature_count = features.size(1),
                              .labels = images_.labels.data_ptr<std::int64_t>(),
                              .ids = ids_.data_ptr<std::int64_t>(),
                              .step = update.state(),
                              .weights = weights_.defined() ? weights_.data_ptr<float>() : nullptr,
                              .grad_logits = gradient.data_ptr<float>(),
                              .smoothing = static_cast<float>(spec_.label_smoothing)};
    if (collected_.numel() > 0) {
      call.signals = {.out = collected_.data_ptr<float>(), .stride = collected_.size(1)};
      for (std::int64_t row = 0; row < collected_.size(0); ++row) {
        call.signals.places.set(spec_.signals->rows()[static_cast<std::size_t>(row)], row);
      }
    }
    cuda::measure_signals(call, tensors::current_stream());
    return gradient;
  }

  tensors::SideStream side_;  ///< for gradients of convolutions' weights
  feed::DeviceImages images_;
};

}  // namespace

std::unique_ptr<DeviceRows> make_image_rows(const DeviceRowsSpec& spec) {
  return std::make_unique<ImageRows>(spec);
}

}  // namespace impart::train
