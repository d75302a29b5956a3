#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "impart/data/images/image_set.h"
#include "impart/data/payloads/example_set.h"
#include "impart/data/task.h"
#include "impart/data/text/token_set.h"

namespace impart::data {

/// A data set: examples to train on and to test with, as payloads that a decoder turns into rows,
/// with what is known of them (labels, truth), and what is to be learned.
struct Dataset {
  Input input = Input::kImages;
  Task task = kClasses;
  ExampleSet train = {}, test = {};

  /// The same examples where all of them are in memory, in the form that a device takes at once;
  /// null if their payloads are only read as they are needed.
  std::shared_ptr<const ImageData> images = nullptr;
  std::shared_ptr<const TextData> text = nullptr;
  std::uint64_t loaded_bytes = 0;       ///< that were read from files to fill that memory
  std::vector<std::string> notes = {};  ///< what a user should know of it, a sentence each

  bool in_memory() const { return images || text; }
};

/// Images that are read as they are needed.
Dataset dataset_of(ExampleData data);
/// Images in memory. `name` is for messages: "NAME (training), image 17".
Dataset dataset_of(ImageData data, const std::string& name);
/// Blocks of a corpus, whose language is learned, or texts with classes.
Dataset dataset_of(TextData data);

/// Of all payloads together.
std::uint64_t payload_bytes(const PayloadSource& payloads);

/// Bytes of text that the targets of the test examples stand for; 0 if that is unknown, or there
/// is no language to be learned.
std::uint64_t test_text_bytes(const Dataset& data);

/// Names the training examples, for those who keep some of them: the name of the data set, and the
/// shape of its examples, how many there are, how long, and of which class.
std::string fingerprint(const Dataset& data, const std::string& name);

}  // namespace impart::data
