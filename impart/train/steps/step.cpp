#include "impart/train/steps/step.h"

#include "impart/train/costs/phase_clock.h"
#include "impart/train/steps/device_end.h"

namespace impart::train {
namespace {

/// Most examples in one pass where the config leaves it to us.
constexpr std::int64_t kMostRows = 4096, kMostRowsOnGpu = 16384;

}  // namespace

bool is_exact(const config::WorkersConfig& workers) {
  return workers.reduce == config::WorkersConfig::Reduce::kExact;
}

std::int64_t most_rows(const config::WorkersConfig& workers, torch::Device device) {
  if (workers.micro_batch > 0) return workers.micro_batch;
  return device.is_cuda() ? kMostRowsOnGpu : kMostRows;
}

void update_weights(const StepContext& context, double learning_rate) {
  {
    const PhaseTimer timer(*context.clock, &store::PhaseSeconds::weight_update);
    context.optimizer->step(context.parameters->values(), context.parameters->gradients(),
                            learning_rate);
  }
  refresh_half_weights(context);
}

void refresh_half_weights(const StepContext& context) {
  if (context.half_weights != nullptr) context.half_weights->refresh();
}

std::unique_ptr<Step> choose_step(const StepContext& context) {
  if (context.apart) return make_local_step(context);
  if (context.feed->device().is_cuda()) {
    if (auto end = make_device_end(context)) {
      const bool finds_rows = context.feed->on_device().has_value();
      return (finds_rows ? make_recorded_step : make_device_step)(context, std::move(end));
    }
  }
  return is_exact(context.config->workers) ? make_exact_step(context) : make_shared_step(context);
}

}  // namespace impart::train
