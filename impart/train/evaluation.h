#pragma once

#include <cstdint>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/data/task.h"
#include "impart/feed/feed.h"
#include "impart/models/classifier.h"

namespace impart::train {

struct EvaluationSpec {
  config::EvalConfig::Protocol protocol = config::EvalConfig::Protocol::kClean;
  std::uint32_t batch = 256;
  std::uint32_t hosted_workers = 1;  ///< of this process, for the batch norms' layout
  std::uint32_t epoch = 0;           ///< for `paper`: whose random choices the test images get
  bool mirror = false;               ///< logits are means over each image and its mirror image
  WorkerId reader = {};              ///< a hosted worker, at whose cost examples are read
};

/// Its bytes are for those to fill in who know the text.
using Evaluation = data::TestOutcome;

/// The logits of a batch; if `mirror`, of images, means of those of each and its mirror image.
torch::Tensor test_logits(models::Classifier& model, const torch::Tensor& inputs, bool mirror);

/// Loss and accuracy on a data set. The batches, in file order, are dealt to the processes in turn.
///
/// `clean`: evaluation mode, images as they are. `paper`: what the 2023 prototype does, images
/// augmented like training images and batch norm with the statistics of the test batch. The
/// prototype also moves its running statistics by them, which nothing it reports depends on; here
/// they stay as they were.
/// Collective: every process calls it, in the same order.
Evaluation evaluate(models::Classifier& model, feed::Feed& feed, const EvaluationSpec& spec,
                    comm::Communicator& communicator);

}  // namespace impart::train
