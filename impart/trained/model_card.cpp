#include "impart/trained/model_card.h"

#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/run/json_file.h"

namespace impart::trained {
namespace {

using Json = nlohmann::ordered_json;
using Stem = config::ModelConfig::Stem;
using config::Norm;

constexpr const char* kVersionKey = "impart_model";
constexpr std::uint32_t kCardVersion = 1;
constexpr std::uint32_t kMostPixels = 4096;

/// 0.485, not 0.48500001430511475: it reads back to the same float.
Json short_numbers(const std::vector<float>& values) {
  Json numbers = Json::array();
  for (const float value : values) {
    numbers.push_back(std::strtod(fmt::format("{}", value).c_str(), nullptr));
  }
  return numbers;
}

Json written(const ImagePreparation& images) {
  return {{"channels", images.channels},
          {"size", images.size},
          {"resize", images.resize},
          {"mean", short_numbers(images.mean)},
          {"std", short_numbers(images.std)}};
}

data::Task task_of(const std::string& name) {
  for (const data::Task& task : {data::kClasses, data::kLanguage}) {
    if (task.name == name) return task;
  }
  throw DataError(fmt::format("'{}' is no task; there are classes and language", shorten(name)));
}

Stem stem_of(const std::string& name) {
  if (name == "cifar") return Stem::kCifar;
  if (name == "imagenet") return Stem::kImagenet;
  throw DataError(fmt::format("'{}' is no stem; there are imagenet and cifar", shorten(name)));
}

Norm norm_of(const std::string& name) {
  if (name == "batch") return Norm::kBatch;
  if (name == "group") return Norm::kGroup;
  throw DataError(fmt::format("'{}' is no norm; there are batch and group", shorten(name)));
}

std::uint32_t whole_between(const Json& value, std::uint32_t least, std::uint32_t most) {
  const auto number = whole_number<std::uint32_t>(value);
  if (number >= least && number <= most) return number;
  throw DataError(fmt::format("{} is not from {} to {}", number, least, most));
}

ImagePreparation parse_images(const Json& json) {
  ImagePreparation images{.channels = whole_between(json.at("channels"), 1, 1024),
                          .size = whole_between(json.at("size"), 1, kMostPixels),
                          .resize = whole_number<std::uint32_t>(json.at("resize")),
                          .mean = json.at("mean").get<std::vector<float>>(),
                          .std = json.at("std").get<std::vector<float>>()};
  if (images.resize < images.size || images.resize > 2 * kMostPixels) {
    throw DataError(fmt::format("resize {} does not go with size {}", images.resize, images.size));
  }
  if (images.mean.size() != images.channels || images.std.size() != images.channels) {
    throw DataError("mean and std need a number for each channel");
  }
  return images;
}

TokenPreparation parse_tokens(const Json& json) {
  return {.vocabulary = whole_between(json.at("vocabulary"), 1, data::kLargestVocabulary),
          .length = whole_between(json.at("length"), 1, 1u << 20)};
}

ModelCard parse_card(const Json& json) {
  if (whole_number<std::uint32_t>(json.at(kVersionKey)) != kCardVersion) {
    throw DataError(fmt::format("version {} of the format; this impart reads {}",
                                shown(json.at(kVersionKey)), kCardVersion));
  }
  ModelCard card{.model = json.at("model"),
                 .is_own = json.value("own", false),
                 .stem = stem_of(json.at("stem")),
                 .norm = norm_of(json.value("norm", "batch")),
                 .dropout = json.at("dropout"),
                 .task = task_of(json.at("task")),
                 .classes = whole_between(json.at("classes"), 0, 1u << 24),
                 .class_names = json.at("class_names").get<std::vector<std::string>>(),
                 .epochs = whole_number<std::uint32_t>(json.at("epochs"))};
  if (json.contains("images")) card.images = parse_images(json.at("images"));
  if (json.contains("tokens")) card.tokens = parse_tokens(json.at("tokens"));
  if (!card.class_names.empty() && card.class_names.size() != card.classes) {
    throw DataError(fmt::format("{} names of {} classes", card.class_names.size(), card.classes));
  }
  return card;
}

}  // namespace

ModelCard describe_model(const config::RunConfig& config, const data::Dataset& data) {
  const data::ExampleSet& set = data.train;
  ModelCard card{.model = config.model.name,
                 .stem = config.model.stem,
                 .norm = config.model.norm,
                 .dropout = config.model.dropout,
                 .task = data.task,
                 .classes = set.classes,
                 .class_names = set.class_names};
  if (data.text) {
    card.tokens = {.vocabulary = data.text->train.vocabulary, .length = data.text->train.length};
  } else if (set.channels > 0) {
    card.images = {.channels = set.channels,
                   .size = set.height,
                   .resize = set.resize == 0 ? set.height : set.resize,
                   .mean = set.mean,
                   .std = set.std};
  }
  return card;
}

Json describe(const ModelCard& card) {
  Json json = {{kVersionKey, kCardVersion}, {"model", card.model}};
  if (card.is_own) json["own"] = true;
  json["stem"] = card.stem == Stem::kCifar ? "cifar" : "imagenet";
  json["norm"] = card.norm == Norm::kGroup ? "group" : "batch";
  json["dropout"] = card.dropout;
  json["task"] = card.task.name;
  json["classes"] = card.classes;
  json["class_names"] = card.class_names;
  if (card.images) json["images"] = written(*card.images);
  if (card.tokens) {
    json["tokens"] = {{"vocabulary", card.tokens->vocabulary}, {"length", card.tokens->length}};
  }
  json["epochs"] = card.epochs;
  return json;
}

void write_card(const std::string& path, const ModelCard& card) {
  run::write_json(path, describe(card));
}

ModelCard read_card(const std::string& path) {
  const InputFile file(path);
  const Json json = parse_json<Json>(file.text(), path);
  try {
    return parse_card(json);
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: {}", path, shorten(error.what())));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  }
}

std::string class_text(const ModelCard& card, std::size_t number) {
  return card.class_names.empty() ? fmt::format("class {}", number) : card.class_names.at(number);
}

}  // namespace impart::trained
