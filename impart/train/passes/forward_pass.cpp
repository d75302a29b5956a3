#include "impart/train/passes/forward_pass.h"

#include <algorithm>
#include <span>
#include <utility>

#include <torch/torch.h>

#include "impart/placement/hosted_workers.h"
#include "impart/train/steps/host_sum.h"

namespace impart::train {
namespace {

/// A GPU waits for the host, which starts its kernels, unless batches of small images are large.
constexpr std::size_t kPassBatch = 512, kPassBatchOnDevice = 2048;

/// Batches of one worker each, so that numbers do not depend on who is hosted with whom.
feed::FeedPlan plan_lists(const placement::Parts& lists, const placement::HostedWorkers& hosted) {
  feed::FeedPlan plan{.augment = false};
  for (std::uint32_t worker = hosted.first; worker < hosted.first + hosted.count; ++worker) {
    const auto list = lists.of(WorkerId{worker});
    for (std::size_t end = 0; end < list.size();) {
      end = std::min(end + kPassBatch, list.size());
      plan.ends.push_back(static_cast<std::int64_t>(plan.ids.size() + end));
    }
    plan.ids.insert(plan.ids.end(), list.begin(), list.end());
    plan.workers.insert(plan.workers.end(), list.size(), WorkerId{worker});
  }
  return plan;
}

/// Makes all batches equally long, whosever examples are in them; the last one repeats some: a
/// GPU's libraries prepare for every new size, which takes longer than the pass.
void make_even(feed::FeedPlan& plan, std::size_t batch) {
  const std::size_t rows = plan.ids.size();
  plan.ends.clear();
  for (std::size_t end = 0; end < rows; end += batch) {
    plan.ends.push_back(static_cast<std::int64_t>(end + batch));
  }
  for (std::size_t i = 0; plan.ids.size() < plan.ends.size() * batch; ++i) {
    const ExampleId repeated = plan.ids[i % rows];
    plan.ids.push_back(repeated);
    plan.workers.push_back(plan.workers[i % rows]);
  }
}

/// This process's numbers, [numbers, rows], on the host.
torch::Tensor measure_own(const ForwardPassSpec& spec, feed::FeedPlan plan) {
  const auto rows = static_cast<std::int64_t>(plan.ids.size());
  if (spec.feed->device().is_cuda()) {
    const auto placed = spec.feed->on_device();
    const bool has_all = placed && placed->images != nullptr && !placed->in_turn;
    make_even(plan, has_all ? kPassBatchOnDevice : kPassBatch);
  }
  const torch::NoGradGuard no_grad;
  spec.model->eval();
  const std::vector<std::int64_t> ends = plan.ends;
  auto mine = torch::empty({spec.numbers, static_cast<std::int64_t>(plan.ids.size())},
                           torch::TensorOptions().device(spec.feed->device()));
  spec.feed->begin(std::move(plan));
  store::PhaseSeconds waiting;  // whoever calls counts the whole pass
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t start = i == 0 ? 0 : ends[i - 1];
    const feed::Batch batch = spec.feed->next(waiting);
    mine.narrow(1, start, ends[i] - start)
        .copy_(spec.measure(spec.model->forward(batch.inputs), batch));
  }
  spec.model->train();
  return mine.narrow(1, 0, rows).to(torch::kCPU).contiguous();
}

/// The workers of a process, one after the other.
void add_lists(const placement::Parts& lists, std::uint32_t rank, std::uint32_t processes,
               std::vector<ExampleId>& ids) {
  const auto hosted = placement::hosted_workers(lists.workers(), rank, processes);
  for (std::uint32_t worker = hosted.first; worker < hosted.first + hosted.count; ++worker) {
    const auto list = lists.of(WorkerId{worker});
    ids.insert(ids.end(), list.begin(), list.end());
  }
}

}  // namespace

MeasuredExamples measure_examples(const ForwardPassSpec& spec, const placement::Parts& lists,
                                  comm::Communicator& communicator) {
  const std::uint32_t processes = communicator.size();
  torch::Tensor mine = measure_own(
      spec, plan_lists(lists,
                       placement::hosted_workers(lists.workers(), communicator.rank(), processes)));
  MeasuredExamples all;
  std::vector<std::size_t> rows, counts;
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    const std::size_t before = all.ids.size();
    add_lists(lists, rank, processes, all.ids);
    rows.push_back(all.ids.size() - before);
    counts.push_back(rows.back() * static_cast<std::size_t>(spec.numbers));
  }
  std::vector<float> gathered(all.ids.size() * static_cast<std::size_t>(spec.numbers));
  communicator.all_gather(std::span<const float>(floats(mine)), counts, std::span(gathered));

  // From [process][number][row] to [number][row].
  all.values.reserve(gathered.size());
  for (std::int64_t number = 0; number < spec.numbers; ++number) {
    const float* block = gathered.data();
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
      const float* const values = block + static_cast<std::size_t>(number) * rows[rank];
      all.values.insert(all.values.end(), values, values + rows[rank]);
      block += counts[rank];
    }
  }
  return all;
}

}  // namespace impart::train
