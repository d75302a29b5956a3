#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "impart/config/model_names.h"
#include "impart/core/named_table.h"

/// The entry point of this layer: which models of images there are (text_models.h: of text). This
/// header costs nothing to include; who runs a model includes classifier.h, and
///   init.h               draws the parameters from the run's seed
///   state.h              saves and loads them
///   worker_statistics.h  keeps stacked workers apart in batch norm
namespace impart::models {

class Classifier;

/// How a ResNet begins.
enum class Stem {
  kImagenet,  ///< 7×7 convolution of stride 2, 3×3 max-pooling of stride 2: as in torchvision
  kCifar,     ///< 3×3 convolution of stride 1, no pooling: for small images
};

struct StemEntry {
  std::string_view name;
  std::string_view summary;
  Stem stem;
};

inline constexpr StemEntry kStems[] = {
    {"imagenet", "7x7 convolution of stride 2, then 3x3 max-pooling of stride 2", Stem::kImagenet},
    {"cifar", "3x3 convolution of stride 1, no pooling", Stem::kCifar},
};
static_assert(names_are_unique(kStems));

struct ModelSpec {
  std::int64_t classes = 10;
  std::int64_t channels = 3;
  std::int64_t image_size = 32;              ///< height and width; only `mlp` depends on it
  Stem stem = Stem::kImagenet;               ///< ResNets only
  config::Norm norm = config::Norm::kBatch;  ///< of models that have one
};

/// Makes a model on the CPU, in training mode, its convolutions and linear layers all zero.
/// ConfigError if a number of the spec is not positive.
using ModelFactory = std::shared_ptr<Classifier>(const ModelSpec& spec);

ModelFactory make_resnet18, make_resnet34, make_resnet50, make_small_cnn, make_fast_cnn,
    make_fast_cnn_wide, make_mlp;

/// What they are called and what they are: config/model_names.h.
inline constexpr Entry<ModelFactory> kModels[] = {
    config::model_entry("resnet18", make_resnet18),
    config::model_entry("resnet34", make_resnet34),
    config::model_entry("resnet50", make_resnet50),
    config::model_entry("small-cnn", make_small_cnn),
    config::model_entry("fast-cnn", make_fast_cnn),
    config::model_entry("fast-cnn-wide", make_fast_cnn_wide),
    config::model_entry("mlp", make_mlp),
};
static_assert(config::has_all_models(kModels, data::Input::kImages));

/// ConfigError if a number is not positive. Every factory calls it first.
void check_spec(const ModelSpec& spec);

}  // namespace impart::models
