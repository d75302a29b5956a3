#pragma once

#include <string>
#include <string_view>

#include "impart/core/named_table.h"
#include "impart/data/dataset.h"
#include "impart/data/images/datasets.h"
#include "impart/data/text/datasets.h"

namespace impart::data {

/// How the examples of a row come about. Images have an opener, and a loader if all of them can be
/// held in memory as pixels; tokens have a loader.
struct DatasetSource {
  Loader* load = nullptr;
  Opener* open = nullptr;
  TextLoader* load_text = nullptr;
};

struct DatasetEntry {
  std::string_view name;
  std::string_view summary;
  Input input = Input::kImages;
  DatasetSource from = {};
  bool reads_files = true;  ///< from the root of the spec
};

/// All data sets there are. One more is a function in a file of its own, its declaration in
/// images/datasets.h or text/datasets.h, and a row here.
inline constexpr DatasetEntry kDatasets[] = {
    {"shapes",
     "drawn here: 10 kinds of shapes, 32x32, with a known difficulty",
     Input::kImages,
     {.load = make_shapes, .open = open_shapes},
     false},
    {"cifar10",
     "CIFAR-10, binary version: data_batch_1..5.bin, test_batch.bin",
     Input::kImages,
     {.load = load_cifar10, .open = open_cifar10}},
    {"cifar100",
     "CIFAR-100, binary version: train.bin, test.bin; fine or coarse labels",
     Input::kImages,
     {.load = load_cifar100, .open = open_cifar100}},
    {"idx",
     "MNIST and its relatives: train-images-idx3-ubyte and so on, also .gz",
     Input::kImages,
     {.load = load_idx, .open = open_idx}},
    {"imagefolder",
     "JPEG and PNG files in train/CLASS/ and val/CLASS/ (or test/CLASS/)",
     Input::kImages,
     {.open = open_imagefolder}},
    {"mds",
     "MosaicML's MDS shards in train/, and in test/ or val/ ('impart data pack')",
     Input::kImages,
     {.open = open_mds}},
    {"generated",
     "made here: blocks of letters from 8 sources, with a known difficulty",
     Input::kTokens,
     {.load_text = make_generated_text},
     false},
    {"text",
     "plain text: a file, a folder of *.txt, or train.txt and valid.txt",
     Input::kTokens,
     {.load_text = load_text_files}},
    {"tokens",
     "token files of nanoGPT or llm.c: train.bin, val.bin",
     Input::kTokens,
     {.load_text = load_token_files}},
    {"table",
     "texts in rows of train.tsv and dev.tsv (or .csv), with a class or without",
     Input::kTokens,
     {.load_text = load_text_table}},
};
static_assert(names_are_unique(kDatasets));

/// Which data set, and what to make of it: the part that is for its kind of input counts.
struct DatasetSpec {
  std::string name = "shapes";  ///< a row of kDatasets
  bool in_memory = true;        ///< images: hold all pixels, where that can be
  DataSpec images = {};
  TextSpec text = {};
};

/// Looks spec.name up in kDatasets and loads or opens it. Errors as of loaders.
Dataset open_dataset(const DatasetSpec& spec);

// The same for those who know what they want: spec.name is looked up, ConfigError if the data set
// is of another kind, or images can only be opened.

ImageData load_data(const DataSpec& spec);
ExampleData open_data(const DataSpec& spec);
TextData load_text(const TextSpec& spec);

}  // namespace impart::data
