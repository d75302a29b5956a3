#include "impart/models/layers/gelu.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "impart/models/kernels/gelu_kernel.h"

namespace impart::models {
namespace {

constexpr std::int64_t kGeluPerThread = 32768;  // at least

class CpuGelu : public torch::autograd::Function<CpuGelu> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& input) {
    const torch::Tensor x = input.contiguous();
    torch::Tensor y = torch::empty_like(x);
    const float* x_data = x.data_ptr<float>();
    float* y_data = y.data_ptr<float>();
    at::parallel_for(0, x.numel(), kGeluPerThread, [&](std::int64_t begin, std::int64_t end) {
      kernels::apply_gelu(x_data + begin, end - begin, y_data + begin);
    });
    context->save_for_backward({x});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const torch::Tensor x = context->get_saved_variables()[0], grad_y = grads[0].contiguous();
    torch::Tensor grad_x = torch::empty_like(x);
    const float *x_data = x.data_ptr<float>(), *grad_data = grad_y.data_ptr<float>();
    float* out = grad_x.data_ptr<float>();
    at::parallel_for(0, x.numel(), kGeluPerThread, [&](std::int64_t begin, std::int64_t end) {
      kernels::differentiate_gelu(x_data + begin, grad_data + begin, end - begin, out + begin);
    });
    return {grad_x};
  }
};

}  // namespace

torch::Tensor tanh_gelu(const torch::Tensor& x) {
  const bool on_cpu = x.device().is_cpu() && x.scalar_type() == torch::kFloat;
  return on_cpu ? CpuGelu::apply(x) : torch::gelu(x, "tanh");
}

}  // namespace impart::models
