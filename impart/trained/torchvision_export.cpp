// For torchvision: its ResNets have our names and shapes, so the weights are as they are.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "impart/core/file.h"
#include "impart/run/json_file.h"
#include "impart/trained/exports.h"

namespace impart::trained {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLoader =
    R"py("""Loads the model in this folder with torchvision; nothing else is needed.

    from load import load_model, load_transform, load_classes
    python3 load.py picture.jpg ...     # what is on them
"""
import json
import math
import pathlib
import struct
import sys

import torch
import torchvision
from torchvision import transforms

FOLDER = pathlib.Path(__file__).resolve().parent
TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16,
         "BF16": torch.bfloat16, "I64": torch.int64}


def read_json(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def load_weights():
    """name -> tensor, as safetensors.torch.load_file would give them."""
    content = (FOLDER / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(content[first:last]), dtype=TYPES[entry["dtype"]])
        weights[name] = flat.reshape(entry["shape"])
    return weights


def group_norm(channels):
    """model.norm: group."""
    return torch.nn.GroupNorm(math.gcd(32, channels // 2), channels)


def load_model():
    """In evaluation mode."""
    card = read_json("model.json")
    channels = card["images"]["channels"]
    norm = group_norm if card["norm"] == "group" else None  # None: torchvision's own, batch norm
    model = getattr(torchvision.models, card["model"])(num_classes=card["classes"], norm_layer=norm)
    if card["stem"] == "cifar":  # torchvision's own begins with 7x7 of stride 2 and pooling
        model.conv1 = torch.nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        model.maxpool = torch.nn.Identity()
    elif channels != 3:
        model.conv1 = torch.nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
    model.load_state_dict(load_weights(), strict=True)
    return model.eval()


def load_transform():
    """From a PIL image to what the model is given."""
    how = read_json("transforms.json")
    steps = [transforms.Resize(how["resize"]), transforms.CenterCrop(how["crop"])]
    if how["channels"] == 1:
        steps.append(transforms.Grayscale())
    return transforms.Compose(
        [*steps, transforms.ToTensor(), transforms.Normalize(how["mean"], how["std"])])


def load_classes():
    return read_json("classes.json")


def main():
    from PIL import Image
    model, transform, classes = load_model(), load_transform(), load_classes()
    for path in sys.argv[1:]:
        with torch.no_grad():
            logits = model(transform(Image.open(path).convert("RGB")).unsqueeze(0))[0]
        chance, number = logits.softmax(0).max(0)
        print(f"{path}: {classes[number]} {100 * float(chance):.1f} %")


if __name__ == "__main__":
    main()
)py";

/// As written in model.json: 0.485, not 0.48500001430511475.
Json transforms_of(const ModelCard& card) {
  const Json images = describe(card).at("images");
  return {{"resize", images.at("resize")},
          {"crop", images.at("size")},
          {"interpolation", "bilinear"},
          {"channels", images.at("channels")},
          {"scale", "0..1"},
          {"mean", images.at("mean")},
          {"std", images.at("std")}};
}

Json classes_of(const ModelCard& card) {
  Json names = Json::array();
  for (std::uint32_t i = 0; i < card.classes; ++i) names.push_back(class_text(card, i));
  return names;
}

}  // namespace

std::vector<std::string> write_torchvision(const ExportSource& source, const std::string& folder) {
  const ModelCard& card = source.card;
  run::write_json(folder + "/transforms.json", transforms_of(card));
  run::write_json(folder + "/classes.json", classes_of(card));
  OutputFile loader(folder + "/load.py");
  loader.write(kLoader);
  loader.commit();
  std::vector<std::string> remarks;
  if (card.stem == config::ModelConfig::Stem::kCifar) {
    remarks.push_back(fmt::format(
        "torchvision's {} begins with a 7x7 convolution of stride 2 and max-pooling, this one with "
        "model.stem cifar: 3x3, stride 1, no pooling; load.py changes that",
        card.model));
  }
  if (card.norm == config::Norm::kGroup) {
    remarks.push_back(fmt::format(
        "torchvision's {} has batch norm, this one model.norm group: torch.nn.GroupNorm; load.py "
        "changes that",
        card.model));
  }
  if (card.images->channels != 3) {
    remarks.push_back(
        fmt::format("torchvision's {} takes 3 channels, this one {}; load.py changes "
                    "that",
                    card.model, card.images->channels));
  }
  return remarks;
}

}  // namespace impart::trained
