#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impart/data/payloads/payload_source.h"

namespace impart::data {

/// What chance decides about one visit of one image while it is decoded: words of the stream
/// (seed, "decode", epoch), words 4i to 4i + 3 for example i, whoever visits it.
struct DecodeChoices {
  bool random = false;  ///< false: evaluation, nothing is left to chance
  std::array<std::uint32_t, 4> words = {};
};

/// The choices of one visit. Computes just these words. Error from example 2^32 on, where the
/// stream ends.
DecodeChoices decode_choices(std::uint64_t seed, std::uint32_t epoch, ExampleId id);

/// Turns payloads into rows of one size. Thread-safe.
class PayloadDecoder {
 public:
  virtual ~PayloadDecoder() = default;

  /// Fills `row`: of an image, channels × height × width bytes, planes one by one; of a text, its
  /// tokens, two bytes each. DataError says what is wrong with the payload; the caller knows which
  /// example it was.
  virtual void decode(std::span<const std::byte> payload, const DecodeChoices& choices,
                      std::span<std::uint8_t> row) const = 0;
};

/// Examples that are read and decoded when they are needed: images, or tokens. Everything but the
/// payloads is in memory on every process: 8 to 24 bytes per example, and file names if each
/// example is a file.
struct ExampleSet {
  std::shared_ptr<const PayloadSource> payloads = {};
  std::shared_ptr<const PayloadDecoder> decoder = {};
  std::uint32_t channels = 0, height = 0, width = 0;  ///< of decoded images; 0: there are none
  std::uint32_t classes = 0;                          ///< 0: examples have no class
  std::vector<std::uint32_t> labels = {};             ///< numbers below `classes`, one per example
  std::vector<float> truth = {};                      ///< as in ImageSet
  std::vector<float> mean = {}, std = {};             ///< as in ImageSet
  /// Photographs: what evaluation brings the shorter side to before it cuts out the centre; 0: the
  /// images are stored as models see them.
  std::uint32_t resize = 0;
  std::vector<std::string> class_names = {};

  std::uint64_t count() const { return payloads ? payloads->examples() : labels.size(); }
  std::uint64_t image_bytes() const { return std::uint64_t{channels} * height * width; }
};

/// A data set whose examples are payloads.
struct ExampleData {
  ExampleSet train, test;
  std::vector<std::string> notes = {};  ///< what a user should know of it, a sentence each
};

}  // namespace impart::data
