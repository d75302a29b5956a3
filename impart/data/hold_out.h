#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/dataset.h"

namespace impart::data {

// A part of the training set that is held out, so that recipes can be chosen without the test set.

/// What is to be divided.
struct HoldOutSpec {
  double share = 0.1;          ///< of every class; of all, where examples have no class
  std::uint64_t examples = 0;  ///< of the training set
  std::span<const std::uint32_t> labels = {};     ///< empty: no classes
  std::span<const std::string> class_names = {};  ///< for messages; may be empty
};

/// The two parts of a training set, both ascending.
struct HeldOut {
  std::vector<ExampleId> train, validation;
};

/// Of every class the examples with the smallest hashes of their ids are held out: share × count of
/// them, rounded. It depends on nothing else, so all runs hold out the same. ConfigError if that
/// leaves a class, or the whole set, without an example on either side.
HeldOut choose_held_out(const HoldOutSpec& spec);

/// The examples with these ids, in that order: example i is what was ids[i].
ExampleSet take_examples(const ExampleSet& set, std::span<const ExampleId> ids);
ImageSet take_examples(const ImageSet& set, std::span<const ExampleId> ids);
TokenSet take_examples(const TokenSet& set, std::span<const ExampleId> ids);

/// The data set whose training examples are `parts.train`, and whose test examples are
/// `parts.validation`. Its own test examples are let go. `name` is for messages.
Dataset hold_out(const Dataset& data, const HeldOut& parts, const std::string& name);

}  // namespace impart::data
