#include "impart/config/keys/keys.h"
#include "impart/config/keys/section_keys.h"
#include "impart/config/model_names.h"
#include "impart/data/datasets.h"
#include "impart/data/images/augment.h"
#include "impart/data/text/tokenizer.h"

namespace impart::config {

void add_data(Schema& schema, bool any_name) {
  SectionKeys data(schema, "data", &RunConfig::data);
  data.key("name", &DataConfig::name,
           name_of("data set", none_if(any_name, names_of(data::kDatasets))), "data set");
  data.key("root", &DataConfig::root, text(),
           "folder that holds its files; also https://, http:// and s3:// (mds, imagefolder)");
  data.key("augment", &DataConfig::augment, name_of("augmentation", names_of(data::kAugmentations)),
           "random changes to training images");
  data.key("limit", &DataConfig::limit, whole<std::uint64_t>(0),
           "use only the first so many training examples; 0: all");
  data.key("validation", &DataConfig::validation, share_or_none(),
           "share of the training examples that is held out and evaluated on, instead of the test "
           "set")
      .counts_at_default = false;
  data.key("train_examples", &DataConfig::train_examples, whole<std::uint64_t>(1),
           "training examples to make (shapes, generated)");
  data.key("test_examples", &DataConfig::test_examples, whole<std::uint64_t>(1),
           "test examples to make (shapes, generated)");
  data.key("seed", &DataConfig::seed, whole<std::uint64_t>(0),
           "seed of made data (shapes, generated)");
  data.key("image_size", &DataConfig::image_size, whole(0u, 4096u),
           "height and width of photos (imagefolder, mds); 0: 224");
  data.key("image_column", &DataConfig::image_column, text(),
           "column of the images (mds); empty: found out from their encodings");
  data.key("label_column", &DataConfig::label_column, text(),
           "column of the classes (mds, where empty means found out; table)");
  data.key("coarse", &DataConfig::coarse, flag(),
           "the 20 coarse classes instead of the 100 fine ones (cifar100)")
      .counts_at_default = false;
  data.key("train_file", &DataConfig::train_file, text(),
           "name of the training file in root (text); empty: the usual ones");
  data.key("test_file", &DataConfig::test_file, text(),
           "name of the test file in root (text); empty: the usual ones");
  data.key("test_share", &DataConfig::test_share,
           number({.most = 1, .without_least = true, .without_most = true}),
           "share of the training text that is cut off for testing if there is no test file");
  data.key("text_column", &DataConfig::text_column, joined_texts(),
           "column of the texts, or several that are joined: title,body (table)");
  data.key("header", &DataConfig::header, name_of("header", {"auto", "true", "false"}),
           "whether the first line names the columns, which else are numbers from 1 (table)")
      .counts_at_default = false;
  data.key("block", &DataConfig::block, whole(1u, 1u << 20),
           "tokens that a model sees of an example, at most (text)");
  data.key("stride", &DataConfig::stride, whole(0u, 1u << 20),
           "tokens from the start of a block to that of the next (text); 0: as block");
  data.key("pack", &DataConfig::pack, flag(),
           "blocks go from one document into the next, and short documents share one (text)");
  data.key("tokenizer", &DataConfig::tokenizer, name_of("tokenizer", names_of(data::kTokenizers)),
           "how text becomes tokens");
  data.key("vocabulary", &DataConfig::vocabulary, whole(0u, 65536u),
           "tokens that there are (bpe, at most; 0: 8192) (tokens; 0: found out)");
  data.key("vocabulary_file", &DataConfig::vocabulary_file, text(),
           "a saved tokenizer to use; empty: one is made from the text");
  using OnError = DataConfig::OnError;
  data.key("on_error", &DataConfig::on_error,
           choice<OnError>("on_error", {{"fail", OnError::kFail}, {"skip", OnError::kSkip}}),
           "an example that cannot be read: end the run, or leave it out and count it");
  data.key("decode_threads", &DataConfig::decode_threads, whole(0u, 256u),
           "threads per process that read and decode; 0: the one that trains", kSameResult);
  data.key("prefetch", &DataConfig::prefetch, whole(1u, 1024u), "batches made ready in advance",
           kSameResult);
}

void add_model(Schema& schema, bool any_name) {
  SectionKeys model(schema, "model", &RunConfig::model);
  model.key("name", &ModelConfig::name, name_of("model", none_if(any_name, names_of(kModelNames))),
            "model");
  using Stem = ModelConfig::Stem;
  model.key("stem", &ModelConfig::stem,
            choice<Stem>("stem", {{"imagenet", Stem::kImagenet}, {"cifar", Stem::kCifar}}),
            "first layers of a ResNet: 7x7/2 and pooling, or 3x3");
  model
      .key("norm", &ModelConfig::norm,
           choice<Norm>("norm", {{"batch", Norm::kBatch}, {"group", Norm::kGroup}}),
           "norm of image models: over the images of a batch, or of each image by itself")
      .counts_at_default = false;
  model.key("dropout", &ModelConfig::dropout, number({.most = 1, .without_most = true}),
            "share of activations that text models leave out in training");
  model
      .key("from", &ModelConfig::from, text(),
           "weights to start from: safetensors of torchvision or Hugging Face, their folder, or a "
           "run; empty: drawn")
      .counts_at_default = false;
}

}  // namespace impart::config
