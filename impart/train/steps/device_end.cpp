#include "impart/train/steps/device_end.h"

#include <utility>

#include "impart/config/rules.h"
#include "impart/cuda/device.h"
#include "impart/tensors/torch_stream.h"

namespace impart::train {
namespace {

/// Whether every step is one pass, after which a kernel can change the weights. The answer is that
/// of the process with the most workers: all must agree.
bool can_end_on_device(const StepContext& context) {
  const config::WorkersConfig& workers = context.config->workers;
  const std::int64_t processes = context.communicator->size();
  const std::int64_t hosted = (workers.count + processes - 1) / processes;
  const std::int64_t rows = hosted * workers.batch;
  return cuda::has_kernels() && !context.apart && !is_exact(workers) &&
         rows <= most_rows(workers, context.feed->device());
}

}  // namespace

DeviceEnd::DeviceEnd(std::unique_ptr<comm::DeviceSum> sum, const StepContext& context)
    : sum_(std::move(sum)),
      update_(
          std::make_unique<DeviceUpdate>(DeviceUpdateSpec{.optimizer = context.config->optimizer,
                                                          .parameters = context.parameters,
                                                          .half_weights = context.half_weights,
                                                          .state = context.optimizer,
                                                          .sum = sum_.get()})) {}

void DeviceEnd::wait() const {
  if (sum_) sum_->wait(tensors::current_stream());
}

std::unique_ptr<DeviceEnd> make_device_end(const StepContext& context) {
  using Transport = config::WorkersConfig::Transport;
  const Transport transport = context.config->workers.transport;
  const bool can_end = can_end_on_device(context);
  if (transport == Transport::kNccl) {
    config::check_rules(
        *context.config,
        {.own = {.rows = *context.own, .model = true, .data = true}, .updates_on_device = can_end});
  }
  if (!can_end) return nullptr;
  std::unique_ptr<comm::DeviceSum> sum;
  if (transport != Transport::kMpi) {
    sum = comm::make_device_sum(*context.communicator, transport == Transport::kNccl
                                                           ? comm::DeviceSumUse::kAlways
                                                           : comm::DeviceSumUse::kWherePossible);
  }
  if (context.communicator->size() > 1 && !sum) return nullptr;
  return std::make_unique<DeviceEnd>(std::move(sum), context);
}

}  // namespace impart::train
