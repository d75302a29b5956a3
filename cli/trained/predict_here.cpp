// For impart-engine: impart predict.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal/terminal_text.h"
#include "cli/trained/machine.h"
#include "cli/trained/requests.h"
#include "impart/core/error.h"
#include "impart/train/use/predictor.h"

namespace impart::cli {
namespace {

constexpr int kSomeFilesBad = 65;

using Chances = std::vector<train::ClassChance>;

void print_json(const std::string& file, const trained::ModelCard& card, const Chances& chances) {
  nlohmann::ordered_json json = {{"file", file}, {"predictions", nlohmann::ordered_json::array()}};
  for (const train::ClassChance& chance : chances) {
    json["predictions"].push_back({{"class", chance.number},
                                   {"name", trained::class_text(card, chance.number)},
                                   {"probability", chance.probability}});
  }
  answer("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const std::string& file, const trained::ModelCard& card, const Chances& chances) {
  answer("{}\n", harmless(file));
  for (const train::ClassChance& chance : chances) {
    answer("  {:5.1f} %  {}\n", 100 * chance.probability,
           harmless(trained::class_text(card, chance.number)));
  }
}

}  // namespace

void predict_here(const PredictRequest& request) {
  const trained::TrainedModel model = trained::find_trained_model(request.folder);
  const Machine machine(trained::read_config(model, {"device=" + request.device}));
  const train::Predictor predictor(model, machine.device);
  bool all_read = true;
  for (const std::string& file : request.files) {
    try {
      Chances chances = predictor.predict_file(file);
      chances.resize(std::min(chances.size(), request.top));
      request.json ? print_json(file, predictor.card(), chances)
                   : print_text(file, predictor.card(), chances);
    } catch (const DataError& error) {
      say("impart: {}\n", harmless(error.what()));
      all_read = false;
    }
  }
  finish_output();
  if (!all_read) throw ExitCode{kSomeFilesBad};
}

}  // namespace impart::cli
