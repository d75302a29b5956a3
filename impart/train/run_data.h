#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "impart/comm/communicator.h"
#include "impart/config/config.h"
#include "impart/config/rules.h"
#include "impart/data/task.h"
#include "impart/feed/feed.h"
#include "impart/feed/own_data.h"
#include "impart/store/store.h"
#include "impart/trained/model_card.h"

namespace impart::train {

/// Reads or opens what the config says, and holds out what it says. Nothing is written yet: what is
/// wrong with the data is found before a run directory is made. DataError, ConfigError.
feed::LoadedData load_run_data(const config::RunConfig& config);

/// The same with data.validation held out of its training set, instead of its test set. ConfigError
/// if too few examples are left on either side.
feed::LoadedData hold_out_validation(feed::LoadedData loaded, const config::RunConfig& config);

/// What the rules of the configuration ask of it.
config::DataFacts data_facts(const feed::LoadedData& data);

/// What training needs of its data.
struct RunData {
  std::uint64_t examples = 0;             ///< to train on
  std::uint64_t validation_examples = 0;  ///< in `test`; 0 if those are of the test set
  std::uint32_t classes = 0;              ///< 0 for language
  std::vector<std::uint32_t> labels = {};
  std::vector<float> truth = {};
  std::uint64_t payload_bytes = 0;                       ///< of all training examples together
  std::shared_ptr<const data::TextData> text = nullptr;  ///< null for images
  data::Task task = data::kClasses;
  trained::ModelCard card = {};  ///< of the model that learns it
  /// Bytes of text that the test set's targets stand for; 0 if that is unknown, or no language.
  std::uint64_t test_bytes = 0;

  /// What is read at every visit; null where everything is in memory.
  std::shared_ptr<const data::PayloadSource> visited_payloads = nullptr;

  /// Where the examples are.
  std::unique_ptr<store::Store> train_store = nullptr, test_store = nullptr;
  std::unique_ptr<feed::Feed> train = nullptr, test = nullptr;
};

/// The name of a class, or its number.
std::string class_name(const RunData& data, std::uint32_t number);

/// Makes the stores and feeds. Opens the folder of a partitioned store; what is in it stays as it
/// is until the store is settled. Collective: every process calls it, in the same order.
RunData prepare_run_data(feed::LoadedData loaded, const config::RunConfig& config,
                         torch::Device device, comm::Communicator& communicator);

}  // namespace impart::train
