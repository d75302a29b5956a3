#include "impart/train/device/image_batch.h"

#include <torch/torch.h>

#include "impart/cuda/images.h"
#include "impart/tensors/torch_stream.h"

namespace impart::train {

torch::Tensor make_image_batch(const ImageBatchSpec& spec) {
  const torch::Tensor &pixels = spec.images->pixels, &mean = spec.images->mean;
  torch::Tensor batch = torch::empty({spec.rows, pixels.size(1), pixels.size(2), pixels.size(3)},
                                     mean.options()
                                         .dtype(spec.half ? torch::kBFloat16 : torch::kFloat)
                                         .memory_format(torch::MemoryFormat::ChannelsLast));
  cuda::gather_images(
      {.pixels = pixels.data_ptr<std::uint8_t>(),
       .channels = pixels.size(1),
       .height = pixels.size(2),
       .width = pixels.size(3),
       .mean = mean.data_ptr<float>(),
       .deviation = spec.images->std.data_ptr<float>(),
       .ids = spec.ids.data_ptr<std::int64_t>(),
       .choices = spec.choices.defined() ? spec.choices.data_ptr<std::int32_t>() : nullptr,
       .step = spec.step,
       .rows = spec.rows,
       .batch = batch.data_ptr(),
       .element = spec.half ? cuda::Element::kBfloat16 : cuda::Element::kFloat},
      tensors::current_stream());
  return batch;
}

}  // namespace impart::train
