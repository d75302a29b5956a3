#include "impart/data/payloads/memory_payloads.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/payloads/raw_decoder.h"

namespace impart::data {
namespace {

class MemorySource final : public PayloadSource {
 public:
  MemorySource(std::shared_ptr<const ImageSet> set, std::string place)
      : set_(std::move(set)), place_(std::move(place)) {}

  std::uint64_t examples() const override { return set_->count; }
  std::uint64_t payload_bytes(ExampleId) const override { return set_->image_bytes(); }

  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    if (index(id) >= set_->count) {
      throw Error(fmt::format("example {} is not in 0..{}", index(id), set_->count - 1));
    }
    const std::span<const std::uint8_t> image = set_->image(index(id));
    if (payload.size() != image.size()) {
      throw Error(fmt::format("example {}: {} bytes to fill instead of {}", index(id),
                              payload.size(), image.size()));
    }
    std::memcpy(payload.data(), image.data(), image.size());
    return 0;
  }

  std::string describe(ExampleId id) const override {
    return fmt::format("{}, image {}", place_, index(id));
  }

 private:
  std::shared_ptr<const ImageSet> set_;
  std::string place_;
};

}  // namespace

std::shared_ptr<const PayloadSource> make_memory_source(std::shared_ptr<const ImageSet> set,
                                                        std::string place) {
  return std::make_shared<MemorySource>(std::move(set), std::move(place));
}

ExampleSet view_in_memory(std::shared_ptr<const ImageSet> set, std::string place) {
  ExampleSet view{.decoder = make_raw_decoder(set->image_bytes()),
                  .channels = set->channels,
                  .height = set->height,
                  .width = set->width,
                  .classes = set->classes,
                  .labels = set->labels,
                  .truth = set->truth,
                  .mean = set->mean,
                  .std = set->std,
                  .class_names = set->class_names};
  view.payloads = make_memory_source(std::move(set), std::move(place));
  return view;
}

ExampleSet view_in_memory(ImageSet set, std::string place) {
  return view_in_memory(std::make_shared<const ImageSet>(std::move(set)), std::move(place));
}

}  // namespace impart::data
