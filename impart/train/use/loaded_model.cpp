#include "impart/train/use/loaded_model.h"

#include "impart/models/state.h"
#include "impart/train/run_model.h"

namespace impart::train {

std::shared_ptr<models::Classifier> load_model_of(const trained::TrainedModel& model,
                                                  const trained::ModelCard& card,
                                                  torch::Device device) {
  auto network = make_model(card);
  models::load_model(model.weights(), *network);
  network->to(device);
  network->eval();
  return network;
}

}  // namespace impart::train
