#include "impart/train/pretrained.h"

#include "impart/models/foreign_weights.h"
#include "impart/train/run_model.h"
#include "impart/trained/weights_file.h"

namespace impart::train {

void check_pretrained(const std::string& from, const trained::ModelCard& card) {
  const std::string path = trained::find_weights(from);
  trained::check_architecture(path, card);
  models::check_foreign_weights(path, *make_model(card));
}

void load_pretrained(const std::string& from, models::Classifier& model, const Note& note) {
  const std::string path = trained::find_weights(from);
  for (const std::string& replaced : models::load_foreign_weights(path, model)) {
    if (note) note(path + ": " + replaced);
  }
}

}  // namespace impart::train
