#include "impart/data/hold_out.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/philox.h"
#include "impart/core/random.h"
#include "impart/data/payloads/memory_payloads.h"

namespace impart::data {
namespace {

/// Some examples of a source, under new ids.
class ChosenPayloads final : public PayloadSource {
 public:
  ChosenPayloads(std::shared_ptr<const PayloadSource> source, std::span<const ExampleId> ids)
      : source_(std::move(source)), ids_(ids.begin(), ids.end()) {}

  std::uint64_t examples() const override { return ids_.size(); }
  std::uint64_t payload_bytes(ExampleId id) const override {
    return source_->payload_bytes(ids_[index(id)]);
  }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    return source_->read(ids_[index(id)], payload);
  }
  std::uint64_t read_all(std::span<const PayloadWish> wishes) const override {
    std::vector<PayloadWish> originals;
    for (const PayloadWish& wish : wishes)
      originals.push_back({ids_[index(wish.id)], wish.payload});
    return source_->read_all(originals);
  }
  bool is_remote() const override { return source_->is_remote(); }
  std::uint64_t requests() const override { return source_->requests(); }
  std::string describe(ExampleId id) const override { return source_->describe(ids_[index(id)]); }

 private:
  std::shared_ptr<const PayloadSource> source_;
  std::vector<ExampleId> ids_;
};

template <class T>
std::vector<T> take(const std::vector<T>& values, std::span<const ExampleId> ids) {
  std::vector<T> taken;
  if (values.empty()) return taken;
  taken.reserve(ids.size());
  for (const ExampleId id : ids) taken.push_back(values[index(id)]);
  return taken;
}

std::uint64_t hash_of(ExampleId id) {
  const auto number = static_cast<std::uint64_t>(index(id));
  const PhiloxCounter words =
      philox4x32_10({static_cast<std::uint32_t>(number), Purpose("validation").code(),
                     static_cast<std::uint32_t>(number >> 32), 0},
                    {0, 0});
  return words[0] | std::uint64_t{words[1]} << 32;
}

/// The ids of each class; all in one where there are none.
std::vector<std::vector<ExampleId>> sort_by_class(const HoldOutSpec& spec) {
  std::vector<std::vector<ExampleId>> classes(1);
  for (std::uint64_t i = 0; i < spec.examples; ++i) {
    const std::uint32_t label = spec.labels.empty() ? 0 : spec.labels[i];
    if (label >= classes.size()) classes.resize(label + 1);
    classes[label].push_back(ExampleId{i});
  }
  return classes;
}

std::string whose(const HoldOutSpec& spec, std::size_t label) {
  if (spec.labels.empty()) return "";
  const bool has_name = label < spec.class_names.size();
  return fmt::format(" of class '{}'", has_name ? spec.class_names[label] : fmt::to_string(label));
}

std::size_t count_held_out(const HoldOutSpec& spec, std::size_t label, std::size_t examples) {
  const auto count =
      static_cast<std::size_t>(std::llround(spec.share * static_cast<double>(examples)));
  if (count > 0 && count < examples) return count;
  throw ConfigError(fmt::format("data.validation: {:g} of the {} training examples{} are {}, so {}",
                                spec.share, examples, whose(spec, label), count,
                                count == 0 ? "none would be held out; a larger share is needed"
                                           : "none would be left to train on"));
}

}  // namespace

HeldOut choose_held_out(const HoldOutSpec& spec) {
  HeldOut parts;
  auto classes = sort_by_class(spec);
  for (std::size_t label = 0; label < classes.size(); ++label) {
    std::vector<ExampleId>& ids = classes[label];
    if (ids.empty() && !spec.labels.empty()) continue;
    const std::size_t count = count_held_out(spec, label, ids.size());
    std::vector<std::pair<std::uint64_t, ExampleId>> drawn;
    for (const ExampleId id : ids) drawn.emplace_back(hash_of(id), id);
    std::sort(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      (i < count ? parts.validation : parts.train).push_back(drawn[i].second);
    }
  }
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.validation.begin(), parts.validation.end());
  return parts;
}

ExampleSet take_examples(const ExampleSet& set, std::span<const ExampleId> ids) {
  ExampleSet taken = set;
  if (set.payloads) taken.payloads = std::make_shared<ChosenPayloads>(set.payloads, ids);
  taken.labels = take(set.labels, ids);
  taken.truth = take(set.truth, ids);
  return taken;
}

ImageSet take_examples(const ImageSet& set, std::span<const ExampleId> ids) {
  ImageSet taken{.count = ids.size(),
                 .channels = set.channels,
                 .height = set.height,
                 .width = set.width,
                 .classes = set.classes,
                 .pixels = {},
                 .labels = take(set.labels, ids),
                 .truth = take(set.truth, ids),
                 .mean = set.mean,
                 .std = set.std,
                 .class_names = set.class_names};
  taken.pixels.reserve(ids.size() * set.image_bytes());
  for (const ExampleId id : ids) {
    const auto image = set.image(index(id));
    taken.pixels.insert(taken.pixels.end(), image.begin(), image.end());
  }
  return taken;
}

TokenSet take_examples(const TokenSet& set, std::span<const ExampleId> ids) {
  TokenSet taken{.vocabulary = set.vocabulary,
                 .length = set.length,
                 .tokens = {},
                 .starts = {},
                 .lengths = take(set.lengths, ids),
                 .bytes = take(set.bytes, ids),
                 .labels = take(set.labels, ids),
                 .classes = set.classes,
                 .class_names = set.class_names,
                 .truth = take(set.truth, ids),
                 .origins = take(set.origins, ids),
                 .origins_count_tokens = set.origins_count_tokens,
                 .files = set.files,
                 .counts = set.counts};
  for (const ExampleId id : ids) {
    const auto tokens = set.example(id);
    taken.starts.push_back(taken.tokens.size());
    taken.tokens.insert(taken.tokens.end(), tokens.begin(), tokens.end());
  }
  taken.counts.tokens = taken.tokens.size();
  return taken;
}

Dataset hold_out(const Dataset& data, const HeldOut& parts, const std::string& name) {
  if (data.text) {
    Dataset divided = dataset_of(TextData{.train = take_examples(data.text->train, parts.train),
                                          .test = take_examples(data.text->train, parts.validation),
                                          .tokenizer = data.text->tokenizer,
                                          .notes = data.notes});
    divided.loaded_bytes = data.loaded_bytes;
    return divided;
  }
  Dataset divided = data;
  if (data.images) {
    const auto images = std::make_shared<const ImageData>(
        ImageData{take_examples(data.images->train, parts.train),
                  take_examples(data.images->train, parts.validation)});
    divided.images = images;
    divided.train = view_in_memory({images, &images->train}, name + " (what is left to train on)");
    divided.test = view_in_memory({images, &images->test}, name + " (held out)");
    return divided;
  }
  divided.train = take_examples(data.train, parts.train);
  divided.test = take_examples(data.train, parts.validation);
  return divided;
}

}  // namespace impart::data
