#include "impart/train/steps/host_sum.h"

#include <algorithm>

#include <torch/torch.h>

#include "impart/comm/exact_sum.h"
#include "impart/placement/hosted_workers.h"

namespace impart::train {
namespace {

/// Lets `change` change the tensor in memory of the host.
template <class Change>
void change_on_host(torch::Tensor& tensor, Change&& change) {
  torch::Tensor host = tensor.to(torch::kCPU);
  change(host);
  if (!tensor.device().is_cpu()) tensor.copy_(host);
}

}  // namespace

std::span<float> floats(torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

void sum_over_processes(torch::Tensor& tensor, comm::Communicator& communicator) {
  if (communicator.size() == 1) return;  // what is on a GPU stays there
  change_on_host(tensor, [&](torch::Tensor& sum) { communicator.all_reduce_sum(floats(sum)); });
}

void sum_exactly(const std::vector<torch::Tensor>& parts, torch::Tensor& sum,
                 comm::Communicator& communicator) {
  std::vector<torch::Tensor> hosts;
  std::vector<std::span<const float>> contributions;
  for (const torch::Tensor& part : parts) hosts.push_back(part.to(torch::kCPU));
  for (torch::Tensor& host : hosts) contributions.emplace_back(floats(host));
  change_on_host(sum, [&](torch::Tensor& total) {
    comm::exact_all_reduce_sum(communicator, contributions, floats(total));
  });
}

torch::Tensor gather_rows(const torch::Tensor& hosted_rows, std::uint32_t workers,
                          comm::Communicator& communicator) {
  const auto mine = hosted_rows.to(torch::kCPU, torch::kFloat32).contiguous();
  const std::int64_t width = mine.numel() / std::max<std::int64_t>(1, mine.size(0));
  std::vector<std::size_t> counts;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    const auto there = placement::hosted_workers(workers, rank, communicator.size());
    counts.push_back(there.count * static_cast<std::size_t>(width));
  }
  auto all = torch::empty({static_cast<std::int64_t>(workers), width});
  const std::span<const float> mine_values(mine.data_ptr<float>(),
                                           static_cast<std::size_t>(mine.numel()));
  communicator.all_gather(mine_values, counts, floats(all));
  return all;
}

}  // namespace impart::train
