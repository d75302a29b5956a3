#include "impart/train/passes/inference_losses.h"

#include <torch/torch.h>

#include "impart/models/task_losses.h"
#include "impart/train/passes/forward_pass.h"

namespace impart::train {

std::vector<float> inference_losses(models::Classifier& model, feed::Feed& feed,
                                    const placement::Partition& partition,
                                    comm::Communicator& communicator) {
  const models::TaskLosses& losses = models::losses_of(feed.task());
  const MeasuredExamples measured = measure_examples(
      {.model = &model,
       .feed = &feed,
       .measure =
           [&](const models::Classifier::Output& output, const feed::Batch& batch) {
             return losses.of_examples(output.logits, batch.targets).unsqueeze(0);
           }},
      partition.parts(), communicator);
  std::vector<float> by_example(measured.ids.size());
  for (std::size_t i = 0; i < measured.ids.size(); ++i) {
    by_example[index(measured.ids[i])] = measured.values[i];
  }
  return by_example;
}

}  // namespace impart::train
