#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "impart/core/ids.h"

namespace impart::tensors {

/// Numbers as an int64 tensor on the host.
template <class Number>
torch::Tensor numbers_tensor(const std::vector<Number>& numbers) {
  auto tensor = torch::empty({static_cast<std::int64_t>(numbers.size())}, torch::kInt64);
  std::transform(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>(),
                 [](Number number) { return static_cast<std::int64_t>(number); });
  return tensor;
}

/// Ids as an int64 tensor on the host.
inline torch::Tensor ids_tensor(const std::vector<ExampleId>& ids) {
  return numbers_tensor(ids);
}

}  // namespace impart::tensors
