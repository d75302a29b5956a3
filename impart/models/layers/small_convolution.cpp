#include "impart/models/layers/small_convolution.h"

#include <array>
#include <vector>

#include <torch/torch.h>

namespace impart::models {
namespace {

constexpr std::int64_t kSmallKernel = 3, kLargestSide = 2;

/// Pixels of image and result, and through which tap one sees the other.
class PixelPairs {
 public:
  PixelPairs(std::int64_t height, std::int64_t width, std::int64_t stride)
      : height_(height), width_(width), stride_(stride) {}

  std::int64_t pixels() const { return height_ * width_; }
  std::int64_t result_height() const { return (height_ - 1) / stride_ + 1; }
  std::int64_t result_width() const { return (width_ - 1) / stride_ + 1; }
  std::int64_t result_pixels() const { return result_height() * result_width(); }

  /// Calls function(pixel of the result, pixel of the image, row of the tap, its column).
  template <class Function>
  void visit(const Function& function) const {
    for (std::int64_t to = 0; to < result_pixels(); ++to) {
      for (std::int64_t from = 0; from < pixels(); ++from) {
        const std::int64_t y = from / width_ - to / result_width() * stride_ + 1;
        const std::int64_t x = from % width_ - to % result_width() * stride_ + 1;
        function(to, from, y, x);
      }
    }
  }

 private:
  std::int64_t height_, width_, stride_;
};

/// The part of a matrix [result pixels × out, pixels × in] that belongs to two pixels, [out, in].
torch::Tensor part_of(const torch::Tensor& matrix, const PixelPairs& pairs, std::int64_t to,
                      std::int64_t from) {
  const std::int64_t out = matrix.size(0) / pairs.result_pixels();
  const std::int64_t in = matrix.size(1) / pairs.pixels();
  return matrix.narrow(0, to * out, out).narrow(1, from * in, in);
}

torch::Tensor tap_of(const torch::Tensor& weight, std::int64_t y, std::int64_t x) {
  return weight.select(3, x).select(2, y);
}

torch::Tensor spread_weight(const torch::Tensor& weight, const PixelPairs& pairs) {
  torch::Tensor matrix =
      torch::empty({pairs.result_pixels() * weight.size(0), pairs.pixels() * weight.size(1)},
                   weight.options().requires_grad(false));
  pairs.visit([&](std::int64_t to, std::int64_t from, std::int64_t y, std::int64_t x) {
    part_of(matrix, pairs, to, from).copy_(tap_of(weight, y, x));
  });
  return matrix;
}

/// The reverse, of gradients: what belongs to one tap is added up, in floats.
torch::Tensor gather_gradient(const torch::Tensor& matrix, const PixelPairs& pairs,
                              const torch::Tensor& weight) {
  std::array<torch::Tensor, kSmallKernel * kSmallKernel> sums;
  pairs.visit([&](std::int64_t to, std::int64_t from, std::int64_t y, std::int64_t x) {
    torch::Tensor& sum = sums[static_cast<std::size_t>(y * kSmallKernel + x)];
    const torch::Tensor part = part_of(matrix, pairs, to, from);
    sum = sum.defined() ? sum.to(torch::kFloat).add_(part) : part;
  });
  torch::Tensor gradient = torch::zeros_like(weight);
  for (std::int64_t y = 0; y < kSmallKernel; ++y) {
    for (std::int64_t x = 0; x < kSmallKernel; ++x) {
      const torch::Tensor& sum = sums[static_cast<std::size_t>(y * kSmallKernel + x)];
      if (sum.defined()) tap_of(gradient, y, x).copy_(sum);
    }
  }
  return gradient;
}

/// [B, C, H, W] as [B, H × W × C].
torch::Tensor as_rows(const torch::Tensor& images) {
  return images.permute({0, 2, 3, 1}).reshape({images.size(0), -1});
}

/// The reverse; channels lie last.
torch::Tensor as_images(const torch::Tensor& rows, std::int64_t height, std::int64_t width) {
  return rows.view({rows.size(0), height, width, rows.size(1) / (height * width)})
      .permute({0, 3, 1, 2});
}

class SmallConvolution : public torch::autograd::Function<SmallConvolution> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& images, const torch::Tensor& weight,
                               std::int64_t stride) {
    const PixelPairs pairs(images.size(2), images.size(3), stride);
    const torch::Tensor rows = as_rows(images), matrix = spread_weight(weight, pairs);
    context->save_for_backward({rows, matrix, weight});
    context->saved_data["shape"] =
        std::vector<std::int64_t>{images.size(2), images.size(3), stride};
    return as_images(rows.mm(matrix.t()), pairs.result_height(), pairs.result_width());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &rows = saved[0], &matrix = saved[1];
    const auto shape = context->saved_data["shape"].toIntVector();
    const PixelPairs pairs(shape[0], shape[1], shape[2]);
    const torch::Tensor grad = as_rows(grads[0]);
    torch::Tensor grad_images, grad_weight;
    if (context->needs_input_grad(0)) grad_images = as_images(grad.mm(matrix), shape[0], shape[1]);
    if (context->needs_input_grad(1)) {
      grad_weight = gather_gradient(grad.t().mm(rows), pairs, saved[2]);
    }
    return {grad_images, grad_weight, {}};
  }
};

}  // namespace

bool is_small_convolution(const torch::Tensor& images, const ConvolutionSpec& spec) {
  return spec.kernel == kSmallKernel && spec.stride <= kLargestSide &&
         images.size(2) <= kLargestSide && images.size(3) <= kLargestSide && images.numel() > 0;
}

torch::Tensor convolve_small(const torch::Tensor& images, const torch::Tensor& weight,
                             const ConvolutionSpec& spec) {
  return SmallConvolution::apply(images, weight, spec.stride);
}

}  // namespace impart::models
