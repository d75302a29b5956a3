#include "impart/run/tensorboard.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using EventJson = nlohmann::json;
using testing::TemporaryFolder;

struct Result {
  int exit_code = 0;
  std::string output;
};

/// Runs a script of this folder. IMPART_PYTHON may name another interpreter than python3.
Result run_python(const std::string& script, const std::string& argument) {
  const char* chosen = std::getenv("IMPART_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  const std::string command =
      python + " " IMPART_SOURCE_DIR "/tests/run/" + script + " '" + argument + "' 2>&1";
  Result result;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) {
    result.output.append(buffer, got);
  }
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::vector<EventJson> read_events(const std::string& path) {
  const Result result = run_python("read_events.py", path);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::vector<EventJson> events;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) events.push_back(EventJson::parse(line));
  return events;
}

EventWriterSpec spec_for(const TemporaryFolder& folder) {
  return {.folder = folder.path(), .clock = [] { return 1700000000.25; }};
}

/// The histogram that a file has of these values.
EventJson histogram_of(std::span<const float> values) {
  const TemporaryFolder folder;
  EventWriter writer(spec_for(folder));
  writer.histogram("h", 1, values);
  const auto events = read_events(writer.path());
  return events.size() == 3 ? events[2]["histogram"] : EventJson();
}

TEST(TensorBoard, AnIndependentReaderFindsWhatWasWritten) {
  const TemporaryFolder folder;
  EventWriter writer(spec_for(folder));
  writer.describe("train/loss", "mean over the epoch");
  writer.scalar("train/loss", 3, 0.625);
  writer.scalar("test/größe", std::int64_t{1} << 40, -1e30);
  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0],
            (EventJson{{"step", 0}, {"wall_time", 1700000000.25}, {"version", "brain.Event:2"}}));
  EXPECT_EQ(events[1], (EventJson{{"step", 0}, {"wall_time", 1700000000.25}, {"session", 1}}));
  EXPECT_EQ(events[2], (EventJson{{"step", 3},
                                  {"wall_time", 1700000000.25},
                                  {"tag", "train/loss"},
                                  {"scalar", 0.625},
                                  {"description", "mean over the epoch"}}));
  EXPECT_EQ(events[3]["step"], std::int64_t{1} << 40);
  EXPECT_EQ(events[3]["tag"], "test/größe");
  EXPECT_EQ(events[3]["scalar"], double{-1e30f});
}

TEST(TensorBoard, TheReaderNoticesADamagedByte) {
  const TemporaryFolder folder;
  EventWriter writer(spec_for(folder));
  writer.scalar("loss", 1, 1);
  std::string bytes = testing::read_text(writer.path());
  bytes[bytes.size() - 8] = static_cast<char>(bytes[bytes.size() - 8] ^ 1);
  const std::string damaged = folder.write("damaged", bytes);
  EXPECT_NE(run_python("read_events.py", damaged).exit_code, 0);
}

TEST(TensorBoard, HistogramsHoldEveryFiniteValueInItsBucket) {
  RandomStream random({.seed = 1, .purpose = Purpose("test")});
  std::vector<float> values = {0, -0.0f, 1e-20f, -1e-20f, 3e38f, -3e38f, 1, 1, 1e-12f};
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(random.normal()));
  const EventJson histogram = histogram_of(values);
  const std::vector<double> limits = histogram["limits"], counts = histogram["counts"];
  ASSERT_EQ(limits.size(), counts.size());
  double previous = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    double expected = 0;
    for (const float value : values) expected += value >= previous && value < limits[i];
    EXPECT_EQ(counts[i], expected) << "bucket up to " << limits[i];
    EXPECT_FALSE(i > 0 && counts[i] == 0 && counts[i - 1] == 0) << "two empty buckets in a row";
    previous = limits[i];
  }
  EXPECT_GT(counts.front(), 0);
  EXPECT_GT(counts.back(), 0);
  EXPECT_EQ(histogram["num"], values.size());
  EXPECT_EQ(histogram["min"], double{-3e38f});
  EXPECT_EQ(histogram["max"], double{3e38f});
}

TEST(TensorBoard, BucketsGrowByTenPercent) {
  const std::vector<float> values = {1.0f, 1.05f, 1.2f};
  const EventJson histogram = histogram_of(values);
  const std::vector<double> limits = histogram["limits"];
  ASSERT_GE(limits.size(), 2u);
  EXPECT_NEAR(limits[1] / limits[0], 1.1, 1e-9);
  const double steps = std::log(limits[0] / 1e-12) / std::log(1.1);
  EXPECT_NEAR(steps, std::round(steps), 1e-6);
  EXPECT_DOUBLE_EQ(histogram["sum"], double{1.0f} + double{1.05f} + double{1.2f});
}

TEST(TensorBoard, HistogramsLeaveOutWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(histogram_of(std::vector<float>{nan, 2, infinity, -infinity})["num"], 1);
  EXPECT_TRUE(histogram_of(std::vector<float>{nan}).is_null());
  EXPECT_TRUE(histogram_of({}).is_null());
}

/// The beginning of a PNG file, as far as a writer of events looks at it.
std::string png_head(char width, char height, char colours) {
  std::string head("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0\x08\0", 26);
  head[19] = width;
  head[23] = height;
  head[25] = colours;
  return head;
}

TEST(TensorBoard, ShowsPictures) {
  const TemporaryFolder folder;
  EventWriter writer(spec_for(folder));
  writer.describe("hardest/1", "example 17");
  writer.image("hardest/1", 5, png_head(7, 9, 2));
  writer.image("grey", 5, png_head(1, 2, 0));
  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2]["tag"], "hardest/1");
  EXPECT_EQ(events[2]["step"], 5);
  EXPECT_EQ(events[2]["description"], "example 17");
  EXPECT_EQ(events[2]["plugin"], "images");
  EXPECT_EQ(events[2]["image"]["width"], 7);
  EXPECT_EQ(events[2]["image"]["height"], 9);
  EXPECT_EQ(events[2]["image"]["channels"], 3);
  EXPECT_EQ(events[2]["image"]["bytes"].get<std::string>().substr(0, 8), "89504e47");
  EXPECT_EQ(events[3]["image"]["channels"], 1);
  EXPECT_THROW(writer.image("none", 1, "GIF89a and so on and so on"), DataError);
  EXPECT_THROW(writer.image("none", 1, "\x89PNG"), DataError);
}

TEST(TensorBoard, KnowsTheSettingsOfARun) {
  const TemporaryFolder folder;
  EventWriter writer(spec_for(folder));
  const std::vector<RunSetting> settings = {
      {"epochs", "8"}, {"optimizer.lr", "1e-3"}, {"partition.sticky", "false"}, {"name", "1 two"}};
  const std::vector<std::string> metrics = {"test/accuracy"};
  writer.settings(settings, metrics);
  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2]["tag"], "_hparams_/experiment");
  EXPECT_EQ(events[2]["plugin"], "hparams");
  EXPECT_EQ(events[2]["types"], EventJson::parse(R"({"epochs": 3, "optimizer.lr": 3,
            "partition.sticky": 2, "name": 1})"));
  EXPECT_EQ(events[2]["metrics"], EventJson::parse(R"(["test/accuracy"])"));
  EXPECT_EQ(events[3]["tag"], "_hparams_/session_start_info");
  EXPECT_EQ(events[3]["settings"], EventJson::parse(R"({"epochs": 8.0, "optimizer.lr": 0.001,
            "partition.sticky": false, "name": "1 two"})"));
}

TEST(TensorBoard, TwoWritersOfTheSameSecondHaveTheirOwnFiles) {
  const TemporaryFolder folder;
  const EventWriter first(spec_for(folder)), second(spec_for(folder));
  EXPECT_EQ(first.path(), folder / "events.out.tfevents.1700000000.0000");
  EXPECT_EQ(second.path(), folder / "events.out.tfevents.1700000000.0001");
  EXPECT_THROW(EventWriter({.folder = folder / "missing"}), IoError);
}

TEST(TensorBoard, TheRealOneReadsARunThatWasResumed) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1, 2, 2, 4};
  EventWriterSpec spec = spec_for(folder);
  EventWriter interrupted(spec);
  for (int step = 0; step < 4; ++step) interrupted.scalar("loss", step, step);
  interrupted.histogram("importance", 1, values);
  spec.first_step = 2;
  EventWriter resumed(spec);
  for (int step = 2; step < 5; ++step) resumed.scalar("loss", step, 10 + step);
  const Result result = run_python("read_with_tensorboard.py", folder.path());
  if (result.exit_code == 77) GTEST_SKIP() << "no TensorBoard: " << result.output;
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const EventJson found = EventJson::parse(result.output.substr(result.output.rfind("\n{") + 1));
  EXPECT_EQ(found["loss"], EventJson::parse("[[0,0.0],[1,1.0],[2,12.0],[3,13.0],[4,14.0]]"));
  EXPECT_EQ(found["importance"], EventJson::parse("[[1,4.0]]"));
}

}  // namespace
}  // namespace impart::run
