#include "impart/tensors/tensor_bytes.h"

#include <cstring>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"

namespace impart::tensors {
namespace {

struct TypePair {
  torch::ScalarType torch_type;
  ElementType type;
};

constexpr TypePair kPairs[] = {
    {torch::kDouble, ElementType::kF64}, {torch::kFloat, ElementType::kF32},
    {torch::kHalf, ElementType::kF16},   {torch::kBFloat16, ElementType::kBF16},
    {torch::kLong, ElementType::kI64},   {torch::kInt, ElementType::kI32},
    {torch::kShort, ElementType::kI16},  {torch::kChar, ElementType::kI8},
    {torch::kByte, ElementType::kU8},    {torch::kBool, ElementType::kBool},
};

}  // namespace

ElementType element_type(const torch::Tensor& tensor) {
  for (const TypePair& pair : kPairs) {
    if (pair.torch_type == tensor.scalar_type()) return pair.type;
  }
  throw Error(
      fmt::format("safetensors have no type for torch's {}", c10::toString(tensor.scalar_type())));
}

std::vector<std::uint64_t> shape_of(const torch::Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

TensorView view_of(std::string name, const torch::Tensor& tensor) {
  return {std::move(name),
          element_type(tensor),
          shape_of(tensor),
          {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}};
}

torch::Tensor copy_of(const TensorView& view) {
  for (const TypePair& pair : kPairs) {
    if (pair.type != view.type) continue;
    const std::vector<std::int64_t> shape(view.shape.begin(), view.shape.end());
    torch::Tensor tensor = torch::empty(shape, pair.torch_type);
    if (!view.data.empty()) std::memcpy(tensor.data_ptr(), view.data.data(), view.data.size());
    return tensor;
  }
  throw ConfigError(
      fmt::format("torch has no type for tensor '{}' of {}", view.name, name_of(view.type)));
}

}  // namespace impart::tensors
