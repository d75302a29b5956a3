#include "impart/trained/model_card.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::trained {
namespace {

using testing::TemporaryFolder;

ModelCard image_card() {
  return {.model = "resnet18",
          .stem = config::ModelConfig::Stem::kCifar,
          .classes = 2,
          .class_names = {"cat", "größer \"dog\""},
          .images = ImagePreparation{.channels = 3,
                                     .size = 32,
                                     .resize = 37,
                                     .mean = {0.485f, 0.1f, 1.0f / 3},
                                     .std = {0.229f, 1e-7f, 1}},
          .epochs = 5};
}

ModelCard text_card() {
  return {.model = "gpt-tiny",
          .dropout = 0.1,
          .task = data::kLanguage,
          .tokens = TokenPreparation{.vocabulary = 300, .length = 64},
          .epochs = 1};
}

TEST(ModelCard, ReadsBackToTheSameBits) {
  const TemporaryFolder folder;
  ModelCard own = text_card();
  own.is_own = true;
  ModelCard group = image_card();
  group.norm = config::Norm::kGroup;
  for (const ModelCard& card : {image_card(), group, text_card(), own}) {
    write_card(folder / "model.json", card);
    EXPECT_EQ(read_card(folder / "model.json"), card);
  }
}

TEST(ModelCard, OfOlderVersionsHasBatchNorm) {
  const TemporaryFolder folder;
  auto json = describe(image_card());
  json.erase("norm");
  EXPECT_EQ(read_card(folder.write("model.json", json.dump())).norm, config::Norm::kBatch);
}

TEST(ModelCard, WritesNumbersAsPeopleDo) {
  EXPECT_EQ(describe(image_card()).at("images").at("mean").at(0).dump(), "0.485");
}

TEST(ModelCard, NamesClassesOrNumbersThem) {
  EXPECT_EQ(class_text(image_card(), 0), "cat");
  EXPECT_EQ(class_text({.model = "mlp", .classes = 3}, 2), "class 2");
}

TEST(ModelCard, DescribesWhatARunTrains) {
  config::RunConfig config;
  config.model = {.name = "resnet34", .stem = config::ModelConfig::Stem::kCifar};
  data::Dataset photos;
  photos.train = {.channels = 3,
                  .height = 224,
                  .width = 224,
                  .classes = 2,
                  .mean = {1, 2, 3},
                  .std = {4, 5, 6},
                  .resize = 256,
                  .class_names = {"a", "b"}};
  const ModelCard card = describe_model(config, photos);
  EXPECT_EQ(card.model, "resnet34");
  EXPECT_EQ(card.class_names, photos.train.class_names);
  EXPECT_EQ(card.images->size, 224u);
  EXPECT_EQ(card.images->resize, 256u);
  photos.train.resize = 0;  // images that are stored as the model sees them
  EXPECT_EQ(describe_model(config, photos).images->resize, 224u);
}

/// What reading says of a card with one member changed.
std::string complaint(const std::function<void(nlohmann::ordered_json&)>& change) {
  const TemporaryFolder folder;
  nlohmann::ordered_json json = describe(image_card());
  change(json);
  std::ofstream(folder / "model.json") << json;
  try {
    read_card(folder / "model.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelCard, RefusesWhatCannotBe) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(complaint([](auto& json) { json["impart_model"] = 2; }), "version 2 of the format");
  contains(complaint([](auto& json) { json.erase("model"); }), "model");
  contains(complaint([](auto& json) { json["task"] = "regression"; }), "'regression' is no task");
  contains(complaint([](auto& json) { json["stem"] = "big"; }), "'big' is no stem");
  contains(complaint([](auto& json) { json["norm"] = "layer"; }), "'layer' is no norm");
  contains(complaint([](auto& json) { json["images"]["resize"] = 31; }), "resize 31");
  contains(complaint([](auto& json) { json["images"]["size"] = 1 << 20; }), "not from 1 to 4096");
  contains(complaint([](auto& json) { json["images"]["mean"] = {0.5}; }), "each channel");
  contains(complaint([](auto& json) { json["class_names"] = {"cat"}; }), "1 names of 2 classes");
  contains(complaint([](auto& json) { json["epochs"] = -1; }), "not a whole number");
  contains(complaint([](auto& json) { json = nlohmann::ordered_json::array(); }), "model.json");
}

}  // namespace
}  // namespace impart::trained
