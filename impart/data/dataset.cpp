#include "impart/data/dataset.h"

#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "impart/data/payloads/memory_payloads.h"
#include "impart/data/text/token_decoder.h"

namespace impart::data {
namespace {

ExampleSet view_tokens(const std::shared_ptr<const TextData>& text, const TokenSet& set) {
  return {.payloads = make_token_source({text, &set}),
          .decoder = make_token_decoder(),
          .classes = set.classes,
          .labels = set.labels,
          .truth = set.truth,
          .class_names = set.class_names};
}

}  // namespace

Dataset dataset_of(ExampleData data) {
  return {
      .train = std::move(data.train), .test = std::move(data.test), .notes = std::move(data.notes)};
}

Dataset dataset_of(ImageData data, const std::string& name) {
  const auto images = std::make_shared<const ImageData>(std::move(data));
  return {.train = view_in_memory({images, &images->train}, name + " (training)"),
          .test = view_in_memory({images, &images->test}, name + " (test)"),
          .images = images};
}

Dataset dataset_of(TextData data) {
  const auto text = std::make_shared<const TextData>(std::move(data));
  return {.input = Input::kTokens,
          .task = text->train.is_corpus() ? kLanguage : kClasses,
          .train = view_tokens(text, text->train),
          .test = view_tokens(text, text->test),
          .text = text,
          .notes = text->notes};
}

std::uint64_t payload_bytes(const PayloadSource& payloads) {
  std::uint64_t bytes = 0;
  for (std::uint64_t id = 0; id < payloads.examples(); ++id) {
    bytes += payloads.payload_bytes(ExampleId{id});
  }
  return bytes;
}

std::uint64_t test_text_bytes(const Dataset& data) {
  if (!data.text || data.task != kLanguage) return 0;
  const std::vector<std::uint64_t>& bytes = data.text->test.bytes;
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

std::string fingerprint(const Dataset& data, const std::string& name) {
  const ExampleSet& set = data.train;
  std::vector<std::uint64_t> facts = {set.channels, set.height, set.width};
  if (data.text) facts = {data.text->train.vocabulary, data.text->train.length};
  for (std::uint64_t id = 0; id < set.payloads->examples(); ++id) {
    facts.push_back(set.payloads->payload_bytes(ExampleId{id}));
    if (!set.labels.empty()) facts.push_back(set.labels[id]);
  }
  return fmt::format("{} {} {:016x}", name, set.payloads->examples(),
                     XXH3_64bits(facts.data(), facts.size() * sizeof facts[0]));
}

}  // namespace impart::data
