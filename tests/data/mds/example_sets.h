#pragma once

#include <memory>
#include <string>
#include <vector>

#include "impart/data/payloads/example_set.h"
#include "impart/data/payloads/raw_decoder.h"

namespace impart::testing {

/// Payloads that a test made up.
class ListedPayloads final : public data::PayloadSource {
 public:
  explicit ListedPayloads(std::vector<std::string> payloads) : payloads_(std::move(payloads)) {}

  std::uint64_t examples() const override { return payloads_.size(); }
  std::uint64_t payload_bytes(ExampleId id) const override { return payloads_[index(id)].size(); }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const std::string& bytes = payloads_[index(id)];
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), payload.begin());
    return bytes.size();
  }
  std::string describe(ExampleId id) const override {
    return "payload " + std::to_string(index(id));
  }

 private:
  std::vector<std::string> payloads_;
};

/// Images of 3 × 4 × 5 bytes, label i mod 4; the pixels of image i all are i, but for the last.
inline data::ExampleSet raw_set(std::uint64_t count) {
  std::vector<std::string> payloads;
  data::ExampleSet set{
      .decoder = data::make_raw_decoder(60), .channels = 3, .height = 4, .width = 5, .classes = 4};
  for (std::uint64_t i = 0; i < count; ++i) {
    payloads.push_back(std::string(59, static_cast<char>(i)) + "!");
    set.labels.push_back(static_cast<std::uint32_t>(i % 4));
    set.truth.push_back(static_cast<float>(i) / 8);
  }
  set.payloads = std::make_shared<ListedPayloads>(std::move(payloads));
  set.mean = {0.1f, 0.2f, 0.3f};
  set.std = {0.4f, 0.5f, 0.6f};
  set.class_names = {"one", "two", "three", "four"};
  return set;
}

inline const std::string kJpegFront = "\xFF\xD8\xFF";
inline const std::string kPngFront = "\x89PNG\r\n\x1A\n";

/// Files of any content.
inline data::ExampleSet photo_set(std::vector<std::string> files) {
  data::ExampleSet set{.channels = 3, .height = 224, .width = 224, .classes = 1};
  set.labels.assign(files.size(), 0);
  set.payloads = std::make_shared<ListedPayloads>(std::move(files));
  return set;
}

}  // namespace impart::testing
