#include "impart/train/use/predictor.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/images/photo_decoder.h"
#include "impart/feed/batch.h"
#include "impart/train/use/loaded_model.h"

namespace impart::train {
namespace {

constexpr std::int64_t kColours = 3;

/// Of red, green and blue planes, as Pillow and torchvision's Grayscale have it.
torch::Tensor grey_of(const torch::Tensor& pixels) {
  const torch::Tensor planes = pixels.to(torch::kInt64);
  const auto grey = planes[0][0] * 19595 + planes[0][1] * 38470 + planes[0][2] * 7471 + 0x8000;
  return torch::bitwise_right_shift(grey, torch::full({}, 16, torch::kInt64))
      .to(torch::kUInt8)
      .unsqueeze(0)
      .unsqueeze(0);
}

std::string_view without_last_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Predictor::Predictor(const trained::TrainedModel& model, torch::Device device)
    : card_(trained::read_card(model)), device_(device) {
  if (card_.task != data::kClasses) {
    throw ConfigError(fmt::format(
        "{0}: learned a language, not classes; 'impart sample {0}' lets it write", model.folder));
  }
  network_ = load_model_of(model, card_, device);
  if (card_.images) {
    decoder_ =
        data::make_photo_decoder({.size = card_.images->size, .resize = card_.images->resize});
  }
  tokenizer_ = trained::read_tokenizer(model);
  if (card_.tokens && !tokenizer_) {
    throw DataError(fmt::format("{}: has no {}", model.folder, trained::kTokenizerFile));
  }
}

std::vector<ClassChance> Predictor::predict_file(const std::string& path) const {
  const torch::NoGradGuard no_grad;
  const torch::Tensor inputs = card_.images ? picture_of(path) : tokens_of(path);
  const torch::Tensor chances =
      torch::softmax(network_->forward(inputs.to(device_)).logits[0].to(torch::kFloat64), 0)
          .to(torch::kCPU)
          .contiguous();
  std::vector<ClassChance> classes;
  for (std::uint32_t i = 0; i < card_.classes; ++i) {
    classes.push_back({i, chances.data_ptr<double>()[i]});
  }
  std::stable_sort(classes.begin(), classes.end(), [](const ClassChance& a, const ClassChance& b) {
    return a.probability > b.probability;
  });
  return classes;
}

torch::Tensor Predictor::picture_of(const std::string& path) const {
  const trained::ImagePreparation& images = *card_.images;
  const InputFile file(path);
  const std::int64_t size = images.size;
  torch::Tensor pixels = torch::empty({1, kColours, size, size}, torch::kUInt8);
  try {
    decoder_->decode(file.bytes(), {},
                     {pixels.data_ptr<std::uint8_t>(), static_cast<std::size_t>(pixels.numel())});
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path, error.what()));
  }
  if (images.channels == 1) pixels = grey_of(pixels);
  const auto options = torch::TensorOptions(torch::kInt64);
  return feed::make_batch({.pixels = pixels.contiguous(),
                           .labels = torch::zeros({1}, options),
                           .mean = torch::tensor(images.mean, torch::kFloat32),
                           .std = torch::tensor(images.std, torch::kFloat32)},
                          torch::zeros({1}, options));
}

torch::Tensor Predictor::tokens_of(const std::string& path) const {
  const InputFile file(path);
  std::vector<data::Token> tokens =
      tokenizer_->encode(without_last_line_end(file.text()), {.path = path});
  if (tokens.empty()) throw DataError(fmt::format("{}: there is no text in it", path));
  tokens.resize(std::min<std::size_t>(tokens.size(), card_.tokens->length));
  const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
  return torch::tensor(ids, torch::kInt64).unsqueeze(0);
}

}  // namespace impart::train
