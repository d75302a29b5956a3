#include "impart/trained/weights_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::trained {
namespace {

using testing::TemporaryFolder;

void put_file(const std::string& path, const std::string& content = "x") {
  std::ofstream(path, std::ios::binary) << content;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(WeightsFile, IsTheFileItself) {
  const TemporaryFolder folder;
  put_file(folder / "weights.bin");
  EXPECT_EQ(find_weights(folder / "weights.bin"), folder / "weights.bin");
}

TEST(WeightsFile, OfAFolderIsModelSafetensorsOrTheOnlyOne) {
  const TemporaryFolder folder;
  put_file(folder / "resnet.safetensors");
  EXPECT_EQ(find_weights(folder.path()), folder / "resnet.safetensors");
  put_file(folder / "other.safetensors");
  EXPECT_NE(error_of([&] { find_weights(folder.path()); }).find("name one"), std::string::npos);
  put_file(folder / "model.safetensors");
  EXPECT_EQ(find_weights(folder.path()), folder / "model.safetensors");
}

TEST(WeightsFile, SaysWhatThereIsInstead) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { find_weights(folder.path()); }).find("has no *.safetensors"),
            std::string::npos);
  EXPECT_NE(error_of([&] { find_weights(folder / "none"); }).find("there is no such file"),
            std::string::npos);
  put_file(folder / "old.pth", "PK\x03\x04 zip");
  EXPECT_NE(error_of([&] { find_weights(folder / "old.pth"); }).find("is a pickle"),
            std::string::npos);
}

TEST(WeightsFile, IsOfTheArchitectureThatConfigJsonTells) {
  const TemporaryFolder folder;
  const ModelCard gpt{.model = "gpt-tiny"};
  const auto complaint = [&](const std::string& json, const ModelCard& card) {
    put_file(folder / "config.json", json);
    return error_of([&] { check_architecture(folder / "model.safetensors", card); });
  };
  EXPECT_EQ(complaint(R"({"model_type": "gpt2", "n_head": 4})", gpt), "");
  EXPECT_EQ(complaint(R"({"n_embd": 128})", gpt), "");
  EXPECT_NE(complaint(R"({"model_type": "gpt2", "n_head": 8})", gpt).find("has 8 heads, and"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"model_type": "llama"})", gpt).find("\"llama\""), std::string::npos);
  EXPECT_EQ(complaint(R"({"model_type": "resnet"})", {.model = "resnet18"}), "");
  EXPECT_NE(complaint(R"({"model_type": 3})", gpt), "");
}

}  // namespace
}  // namespace impart::trained
