#include "impart/data/hold_out.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using Labels = std::vector<std::uint32_t>;

/// Three classes of different sizes, mixed: 50, 30 and 20 of every 100.
Labels mixed_labels(std::size_t count) {
  Labels labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(i % 10 < 5 ? 0 : i % 10 < 8 ? 1 : 2);
  return labels;
}

std::map<std::uint32_t, std::size_t> count_classes(const std::vector<ExampleId>& ids,
                                                   const Labels& labels) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const ExampleId id : ids) ++counts[labels[index(id)]];
  return counts;
}

TEST(HoldOut, TakesTheShareOfEveryClassAndLeavesTheRest) {
  const Labels labels = mixed_labels(1000);
  const HeldOut parts = choose_held_out({.share = 0.1, .examples = 1000, .labels = labels});
  EXPECT_EQ(count_classes(parts.validation, labels),
            (std::map<std::uint32_t, std::size_t>{{0, 50}, {1, 30}, {2, 20}}));
  std::set<ExampleId> all(parts.train.begin(), parts.train.end());
  all.insert(parts.validation.begin(), parts.validation.end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(parts.train.size() + parts.validation.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(parts.train.begin(), parts.train.end()));
  EXPECT_TRUE(std::is_sorted(parts.validation.begin(), parts.validation.end()));
}

TEST(HoldOut, OfAGreaterShareHasThoseOfASmallerOne) {
  const HeldOut few = choose_held_out({.share = 0.1, .examples = 1000});
  const HeldOut more = choose_held_out({.share = 0.3, .examples = 1000});
  EXPECT_EQ(few.validation.size(), 100u);
  EXPECT_TRUE(std::includes(more.validation.begin(), more.validation.end(), few.validation.begin(),
                            few.validation.end()));
}

TEST(HoldOut, IsSpreadOverTheWholeSetAndStaysWhatItWas) {
  const HeldOut parts = choose_held_out({.share = 0.2, .examples = 1000});
  const auto in_first_half = std::count_if(parts.validation.begin(), parts.validation.end(),
                                           [](ExampleId id) { return index(id) < 500; });
  EXPECT_NEAR(static_cast<double>(in_first_half), 100, 20);
  // By an implementation of Philox in Python: runs of all versions must hold out the same.
  const std::vector<ExampleId> first(parts.validation.begin(), parts.validation.begin() + 5);
  EXPECT_EQ(first, (std::vector<ExampleId>{ExampleId{0}, ExampleId{4}, ExampleId{5}, ExampleId{6},
                                           ExampleId{7}}));
}

TEST(HoldOut, LeavesNoClassEmptyOnEitherSide) {
  const Labels labels = mixed_labels(100);
  const std::vector<std::string> names = {"cat", "dog", "eel"};
  const auto complaint = [&](double share) {
    return testing::message_of<ConfigError>([&] {
      choose_held_out({.share = share, .examples = 100, .labels = labels, .class_names = names});
    });
  };
  EXPECT_EQ(complaint(0.02),
            "data.validation: 0.02 of the 20 training examples of class 'eel' are 0, so none would "
            "be held out; a larger share is needed");
  EXPECT_EQ(complaint(0.98),
            "data.validation: 0.98 of the 20 training examples of class 'eel' are 20, so none "
            "would be left to train on");
  EXPECT_THROW(choose_held_out({.share = 0.5, .examples = 0}), ConfigError);
  EXPECT_THROW(choose_held_out({.share = 0.5, .examples = 1}), ConfigError);
  const Labels skipped = {2, 2, 2, 2};  // classes 0 and 1 have no examples at all
  EXPECT_EQ(choose_held_out({.share = 0.5, .examples = 4, .labels = skipped}).train.size(), 2u);
}

ImageSet images_of(std::uint8_t count) {
  ImageSet set{.count = count, .channels = 1, .height = 1, .width = 2, .classes = 2};
  for (std::uint8_t i = 0; i < count; ++i) {
    set.pixels.insert(set.pixels.end(), {i, static_cast<std::uint8_t>(100 + i)});
    set.labels.push_back(i % 2);
    set.truth.push_back(i / 10.0F);
  }
  set.mean = {0.5F};
  set.std = {0.25F};
  return set;
}

const HeldOut kParts{.train = {ExampleId{0}, ExampleId{2}, ExampleId{3}},
                     .validation = {ExampleId{1}, ExampleId{4}}};

std::vector<std::byte> payload_of(const ExampleSet& set, std::uint64_t id) {
  std::vector<std::byte> payload(set.payloads->payload_bytes(ExampleId{id}));
  set.payloads->read(ExampleId{id}, payload);
  return payload;
}

TEST(HoldOut, OfImagesMovesThemWithAllThatIsKnownOfThem) {
  const Dataset whole = dataset_of(ImageData{images_of(5), images_of(2)}, "made");
  const Dataset divided = hold_out(whole, kParts, "made");
  EXPECT_EQ(divided.train.labels, (Labels{0, 0, 1}));
  EXPECT_EQ(divided.test.labels, (Labels{1, 0}));
  EXPECT_EQ(divided.train.truth, (std::vector<float>{0, 0.2F, 0.3F}));
  EXPECT_EQ(divided.images->test.pixels, (std::vector<std::uint8_t>{1, 101, 4, 104}));
  EXPECT_EQ(divided.images->test.mean, whole.images->train.mean);
  EXPECT_EQ(payload_of(divided.test, 1), payload_of(whole.train, 4));
  EXPECT_NE(fingerprint(divided, "made"), fingerprint(whole, "made"));
}

TEST(HoldOut, OfExamplesThatAreReadKeepsTheirPlaces) {
  Dataset whole = dataset_of(ImageData{images_of(5), images_of(2)}, "made");
  whole.images = nullptr;
  const Dataset divided = hold_out(whole, kParts, "made");
  EXPECT_EQ(divided.train.count(), 3u);
  EXPECT_EQ(payload_of(divided.train, 2), payload_of(whole.train, 3));
  EXPECT_EQ(divided.test.payloads->describe(ExampleId{0}), "made (training), image 1");
}

TEST(HoldOut, OfTokensTakesWholeExamples) {
  TokenSet tokens{.vocabulary = 100, .length = 2};
  for (std::uint32_t i = 0; i < 5; ++i) {
    tokens.starts.push_back(2 * i);  // blocks of 3 tokens that share one
    tokens.lengths.push_back(3);
    tokens.bytes.push_back(i);
    tokens.origins.push_back({.offset = i});
  }
  for (Token token = 0; token < 11; ++token) tokens.tokens.push_back(token);
  const TextData text{.train = tokens, .test = {.vocabulary = 100, .length = 2}};
  const Dataset divided = hold_out(dataset_of(text), kParts, "made");
  EXPECT_EQ(divided.task, kLanguage);
  EXPECT_EQ(divided.train.count(), 3u);
  const auto last = divided.text->test.example(ExampleId{1});
  EXPECT_EQ(std::vector<Token>(last.begin(), last.end()), (std::vector<Token>{8, 9, 10}));
  EXPECT_EQ(divided.text->test.bytes, (std::vector<std::uint64_t>{1, 4}));
  EXPECT_EQ(divided.text->train.origins[1].offset, 2u);
  EXPECT_EQ(test_text_bytes(divided), 5u);
}

}  // namespace
}  // namespace impart::data
