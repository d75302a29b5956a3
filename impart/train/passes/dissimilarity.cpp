#include "impart/train/passes/dissimilarity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/core/random.h"
#include "impart/models/layers/layers.h"
#include "impart/models/module_tree.h"
#include "impart/models/task_losses.h"
#include "impart/placement/hosted_workers.h"

namespace impart::train {
namespace {

/// What a loss is differentiated by: the parameters, or the copies that compute in their place.
std::vector<torch::Tensor> list_leaves(models::Classifier& model) {
  std::vector<torch::Tensor> leaves;
  models::visit_modules(model, [&](const std::string&, torch::nn::Module& module) {
    std::vector<models::ComputesInHalf::Place> places;
    if (auto* layer = dynamic_cast<models::ComputesInHalf*>(&module)) places = layer->half_places();
    for (const torch::Tensor& parameter : module.parameters(/*recurse=*/false)) {
      const auto place = std::ranges::find_if(
          places, [&](const auto& p) { return p.parameter.is_same(parameter); });
      leaves.push_back(place == places.end() ? parameter : models::used(parameter, *place->copy));
    }
  });
  return leaves;
}

/// In one array of doubles.
torch::Tensor differentiate_loss(const torch::Tensor& loss,
                                 const std::vector<torch::Tensor>& leaves) {
  const auto gradients =
      torch::autograd::grad({loss}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/false,
                            /*create_graph=*/false, /*allow_unused=*/true);
  std::vector<torch::Tensor> flat;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const torch::Tensor& found = gradients[i];
    flat.push_back((found.defined() ? found : torch::zeros_like(leaves[i]))
                       .detach()
                       .reshape({-1})
                       .to(torch::kDouble));
  }
  return torch::cat(flat);
}

/// A batch for each list that is not empty.
feed::FeedPlan plan_whole_lists(const placement::Parts& lists,
                                const placement::HostedWorkers& hosted) {
  feed::FeedPlan plan{.augment = false};
  for (std::uint32_t worker = hosted.first; worker < hosted.first + hosted.count; ++worker) {
    const auto list = lists.of(WorkerId{worker});
    if (list.empty()) continue;
    plan.ids.insert(plan.ids.end(), list.begin(), list.end());
    plan.workers.insert(plan.workers.end(), list.size(), WorkerId{worker});
    plan.ends.push_back(static_cast<std::int64_t>(plan.ids.size()));
  }
  return plan;
}

/// Over workers.
struct GradientTotals {
  torch::Tensor sum;   ///< of gradients
  double squares = 0;  ///< of their norms
  double workers = 0;
};

GradientTotals add_up_gradients(models::Classifier& model, feed::Feed& feed, feed::FeedPlan plan) {
  const std::vector<torch::Tensor> leaves = list_leaves(model);
  const models::TaskLosses& losses = models::losses_of(feed.task());
  std::int64_t numbers = 0;
  for (const torch::Tensor& leaf : leaves) numbers += leaf.numel();
  GradientTotals totals{
      .sum = torch::zeros({numbers},
                          torch::TensorOptions().device(feed.device()).dtype(torch::kDouble))};
  totals.workers = static_cast<double>(plan.ends.size());
  torch::Tensor squares = torch::zeros({}, totals.sum.options());
  feed.begin(std::move(plan));
  store::PhaseSeconds waiting;  // whoever calls counts the whole measurement
  for (double worker = 0; worker < totals.workers; ++worker) {
    const feed::Batch batch = feed.next(waiting);
    const auto logits = model.forward(batch.inputs).logits;
    const torch::Tensor gradient =
        differentiate_loss(losses.measure(logits, batch.targets).examples.mean(), leaves);
    totals.sum += gradient;
    squares += gradient.square().sum();
  }
  totals.squares = squares.item<double>();
  return totals;
}

}  // namespace

placement::Parts draw_samples(const placement::Partition& partition, std::uint64_t seed,
                              std::uint32_t epoch) {
  placement::Parts parts = partition.parts();
  std::vector<std::uint64_t> sizes = partition.sizes();
  for (std::uint64_t& size : sizes) size = std::min(size, kGradientSample);
  placement::Parts samples(sizes);
  for (std::uint32_t worker = 0; worker < partition.workers(); ++worker) {
    const auto part = parts.of(WorkerId{worker});
    const auto sample = samples.of(WorkerId{worker});
    RandomStream random({.seed = seed,
                         .purpose = Purpose("dissimilarity"),
                         .epoch = epoch,
                         .worker = WorkerId{worker}});
    for (std::size_t i = 0; i < sample.size(); ++i) {
      std::swap(part[i], part[i + random.below(part.size() - i)]);
      sample[i] = part[i];
    }
  }
  return samples;
}

std::optional<double> measure_dissimilarity(models::Classifier& model, feed::Feed& feed,
                                            const placement::Parts& lists,
                                            comm::Communicator& communicator) {
  model.eval();
  const auto hosted =
      placement::hosted_workers(lists.workers(), communicator.rank(), communicator.size());
  const GradientTotals mine = add_up_gradients(model, feed, plan_whole_lists(lists, hosted));
  model.train();
  torch::Tensor sum = mine.sum.to(torch::kCPU);
  communicator.all_reduce_sum(
      std::span(sum.data_ptr<double>(), static_cast<std::size_t>(sum.numel())));
  std::array totals = {mine.squares, mine.workers};
  communicator.all_reduce_sum(std::span<double>(totals));
  const double workers = totals[1];
  const double mean_square = (sum / workers).square().sum().item<double>();
  // The mean of |g_k - g|² is the mean of |g_k|² less |g|².
  const double ratio = totals[0] / workers / mean_square - 1;
  return std::isfinite(ratio) ? std::optional(std::max(0.0, ratio)) : std::nullopt;
}

}  // namespace impart::train
