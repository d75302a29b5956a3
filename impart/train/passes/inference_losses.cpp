#include "impart/train/inference_losses.h"

#include <algorithm>
#include <span>
#include <utility>

#include <torch/torch.h>

#include "impart/models/task_losses.h"
#include "impart/placement/hosted_workers.h"
#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

constexpr std::size_t kInferenceBatch = 512;

feed::FeedPlan plan_parts(const placement::Parts& parts, const placement::HostedWorkers& hosted) {
  feed::FeedPlan plan{.augment = false};
  for (std::uint32_t worker = hosted.first; worker < hosted.first + hosted.count; ++worker) {
    const auto part = parts.of(WorkerId{worker});
    for (std::size_t end = 0; end < part.size();) {
      end = std::min(end + kInferenceBatch, part.size());
      plan.ends.push_back(static_cast<std::int64_t>(plan.ids.size() + end));
    }
    plan.ids.insert(plan.ids.end(), part.begin(), part.end());
    plan.workers.insert(plan.workers.end(), part.size(), WorkerId{worker});
  }
  return plan;
}

/// The values of all examples, from those of every process's parts.
std::vector<float> gather_by_example(std::span<const float> mine, const placement::Parts& parts,
                                     comm::Communicator& communicator) {
  std::vector<ExampleId> ids;
  std::vector<std::size_t> counts;
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank) {
    const auto there = placement::hosted_workers(parts.workers(), rank, communicator.size());
    const std::size_t before = ids.size();
    for (std::uint32_t worker = there.first; worker < there.first + there.count; ++worker) {
      const auto part = parts.of(WorkerId{worker});
      ids.insert(ids.end(), part.begin(), part.end());
    }
    counts.push_back(ids.size() - before);
  }
  std::vector<float> by_part(ids.size()), by_example(ids.size());
  communicator.all_gather(mine, counts, std::span<float>(by_part));
  for (std::size_t i = 0; i < ids.size(); ++i) by_example[index(ids[i])] = by_part[i];
  return by_example;
}

}  // namespace

std::vector<float> inference_losses(models::Classifier& model, feed::Feed& feed,
                                    const placement::Partition& partition,
                                    comm::Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const placement::Parts parts = partition.parts();
  feed::FeedPlan plan = plan_parts(
      parts, placement::hosted_workers(parts.workers(), communicator.rank(), communicator.size()));
  const models::TaskLosses& losses = models::losses_of(feed.task());
  const std::vector<std::int64_t> ends = plan.ends;
  auto mine = torch::empty({static_cast<std::int64_t>(plan.ids.size())},
                           torch::TensorOptions().device(feed.device()));
  feed.begin(std::move(plan));
  store::PhaseSeconds waiting;  // whoever calls counts the whole pass
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t start = i == 0 ? 0 : ends[i - 1];
    const feed::Batch batch = feed.next(waiting);
    mine.narrow(0, start, ends[i] - start)
        .copy_(losses.of_examples(model.forward(batch.inputs).logits, batch.targets));
  }
  model.train();
  auto host = mine.to(torch::kCPU).contiguous();
  return gather_by_example(floats(host), parts, communicator);
}

}  // namespace impart::train
