#include "impart/data/datasets.h"

#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

const DatasetEntry& find_dataset(const std::string& name) {
  return find_entry(kDatasets, "data set", name);
}

const DatasetEntry& find_dataset(const std::string& name, Input input) {
  const DatasetEntry& row = find_dataset(name);
  if (row.input == input) return row;
  const bool images = row.input == Input::kImages;
  throw ConfigError(fmt::format("data set '{}' is one of {}, not of {}", name,
                                images ? "images" : "text", images ? "text" : "images"));
}

}  // namespace

Dataset open_dataset(const DatasetSpec& spec) {
  const DatasetEntry& row = find_dataset(spec.name);
  const DatasetSource& from = row.from;
  if (from.load_text == nullptr && (from.load == nullptr || !spec.in_memory)) {
    return dataset_of(from.open(spec.images));
  }
  Dataset data = from.load_text != nullptr ? dataset_of(from.load_text(spec.text))
                                           : dataset_of(from.load(spec.images), spec.name);
  if (row.reads_files) data.loaded_bytes = payload_bytes(*data.train.payloads);
  return data;
}

ImageData load_data(const DataSpec& spec) {
  const DatasetEntry& row = find_dataset(spec.name, Input::kImages);
  if (row.from.load == nullptr) {
    throw ConfigError(
        fmt::format("data set '{}' cannot be held in memory as pixels, only opened", spec.name));
  }
  return row.from.load(spec);
}

ExampleData open_data(const DataSpec& spec) {
  return find_dataset(spec.name, Input::kImages).from.open(spec);
}

TextData load_text(const TextSpec& spec) {
  return find_dataset(spec.name, Input::kTokens).from.load_text(spec);
}

}  // namespace impart::data
