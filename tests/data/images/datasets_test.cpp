#include "impart/data/datasets.h"

#include <cmath>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;

TEST(Datasets, SuggestTheNearestName) {
  EXPECT_EQ(message_of<ConfigError>([] { load_data({.name = "cifar01"}); }),
            "unknown data set 'cifar01', did you mean 'cifar10'?");
}

TEST(Datasets, ThatReadFilesSayWhichOneTheyMissAndWhatToDo) {
  const testing::TemporaryFolder folder;
  for (const DatasetEntry& entry : kDatasets) {
    if (!entry.reads_files || entry.input != Input::kImages) continue;
    const std::string message = message_of<DataError>(
        [&] { open_data({.name = std::string(entry.name), .root = folder / "nowhere"}); });
    EXPECT_EQ(message.find(folder / "nowhere/"), 0u) << entry.name << ": " << message;
    EXPECT_NE(message.find("data.root"), std::string::npos) << entry.name << ": " << message;
  }
}

TEST(Datasets, AreToldApartByWhatTheirExamplesAre) {
  EXPECT_EQ(message_of<ConfigError>([] { open_data({.name = "text"}); }),
            "data set 'text' is one of text, not of images");
  EXPECT_EQ(message_of<ConfigError>([] { load_text({.name = "idx"}); }),
            "data set 'idx' is one of images, not of text");
}

TEST(Datasets, ThatAreMadeHereAreWholeInMemoryAndAsPayloads) {
  for (const DatasetEntry& entry : kDatasets) {
    if (entry.reads_files) continue;
    SCOPED_TRACE(entry.name);
    const Dataset data = open_dataset({.name = std::string(entry.name),
                                       .images = {.train_examples = 20, .test_examples = 5},
                                       .text = {.train_examples = 20, .test_examples = 5}});
    EXPECT_EQ(data.input, entry.input);
    EXPECT_TRUE(data.in_memory());
    EXPECT_EQ(data.loaded_bytes, 0u);
    EXPECT_EQ(data.train.count(), 20u);
    EXPECT_EQ(data.train.truth.size(), 20u);
    EXPECT_EQ(data.test.count(), 5u);
    std::vector<std::byte> payload(data.train.payloads->payload_bytes(ExampleId{7}));
    EXPECT_EQ(data.train.payloads->read(ExampleId{7}, payload), 0u);
    EXPECT_EQ(payload_bytes(*data.train.payloads), 20 * payload.size());
  }
}

TEST(Datasets, CountWhatTheyReadIntoMemory) {
  const testing::TemporaryFolder folder;
  folder.write("train.tsv", "text\tlabel\ngood film\t1\nbad\t0\n");
  folder.write("dev.tsv", "text\tlabel\nfine\t1\n");
  const Dataset data =
      open_dataset({.name = "table", .text = {.name = "table", .root = folder.path()}});
  EXPECT_EQ(data.loaded_bytes, 2 * 12u);
  EXPECT_EQ(data.task, kClasses);
  EXPECT_EQ(test_text_bytes(data), 0u);
  const Dataset corpus = open_dataset(
      {.name = "table",
       .text = {
           .name = "table", .root = folder.path(), .blocks = {.length = 2}, .label_column = ""}});
  EXPECT_EQ(corpus.task, kLanguage);
  EXPECT_GT(test_text_bytes(corpus), 0u);
  EXPECT_NE(fingerprint(data, "table"), fingerprint(corpus, "table"));
}

TEST(Tasks, KnowWhatIsBetter) {
  EXPECT_TRUE(is_better(kClasses, 81, 80));
  EXPECT_FALSE(is_better(kClasses, 80, 80));
  EXPECT_TRUE(is_better(kLanguage, 3, 4));
  EXPECT_FALSE(is_better(kLanguage, std::nan(""), 4));
  for (const Task& task : {kClasses, kLanguage}) {
    EXPECT_TRUE(is_better(task, 5, std::nullopt));
    EXPECT_TRUE(is_better(task, 5, std::nan(""))) << "a run may find its way";
    EXPECT_EQ(task.metrics.front().name, task.metric);
  }
}

TEST(Tasks, MeasureOutcomes) {
  const TestOutcome outcome{.predictions = 8, .loss = std::log(2.0), .accuracy = 87.2, .bytes = 4};
  EXPECT_EQ(score_of(kClasses, outcome), 87.2);
  EXPECT_NEAR(score_of(kLanguage, outcome), 2, 1e-12);
  EXPECT_NEAR(measure_bits_per_byte(outcome).value(), 2, 1e-12);
  EXPECT_FALSE(measure_bits_per_byte({.predictions = 8, .loss = 1}));
  EXPECT_EQ(test_text(kClasses, 0.5, 87.2), "test 87.20 %");
  EXPECT_EQ(test_text(kLanguage, 1.1447, 3.1416), "test loss 1.1447  perplexity 3.142");
}

TEST(ChannelMoments, AreThoseOfThePixels) {
  const ImageSet set{.count = 2,
                     .channels = 2,
                     .height = 1,
                     .width = 2,
                     .classes = 1,
                     .pixels = {0, 255, 51, 51, 255, 0, 51, 51},
                     .labels = {0, 0}};
  const ChannelMoments moments = measure_channels(set);
  EXPECT_EQ(moments.mean, (std::vector{0.5f, 0.2f}));
  EXPECT_EQ(moments.std, (std::vector{0.5f, 1.0f}));
}

}  // namespace
}  // namespace impart::data
