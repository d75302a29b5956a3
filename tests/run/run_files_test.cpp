#include "impart/run/run_files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;
using testing::read_text;
using testing::TemporaryFolder;

std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(RunFiles, LeaveExactlyOneMarkerWhateverCameBefore) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_status(folder.path()), std::nullopt);
  for (const RunStatus before : {RunStatus::kDone, RunStatus::kFailed, RunStatus::kPreempted}) {
    for (const RunStatus after : {RunStatus::kDone, RunStatus::kFailed, RunStatus::kPreempted}) {
      mark_status(folder.path(), before, "");
      mark_status(folder.path(), after, "a reason");
      EXPECT_EQ(read_status(folder.path()), after);
      EXPECT_EQ(files_in(folder).size(), 1u);
    }
  }
  EXPECT_EQ(read_text(folder / "PREEMPTED"), "a reason\n");
  clear_status(folder.path());
  EXPECT_EQ(read_status(folder.path()), std::nullopt);
  EXPECT_TRUE(files_in(folder).empty());
}

TEST(RunFiles, RefuseMarkersThatDisagree) {
  const TemporaryFolder folder;
  folder.write("DONE", "");
  folder.write("FAILED", "");
  EXPECT_THROW(read_status(folder.path()), DataError);
}

TEST(RunFiles, EnvironmentSaysWhatRanButNotWhere) {
  const TemporaryFolder folder;
  write_environment(folder.path(), {{"torch", "1.13.1"}});
  const std::string text = read_text(folder / "env.json");
  const Json json = Json::parse(text);
  for (const char* name : {"impart", "commit", "compiler", "processor", "cores", "kernel", "fmt"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_EQ(json["torch"], "1.13.1");
  EXPECT_GT(json["cores"], 0);
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(text.find(host), std::string::npos);
}

TEST(RunFiles, SayWhichFolderIsMissing) {
  EXPECT_THROW(mark_status("/nowhere", RunStatus::kDone, ""), IoError);
  EXPECT_THROW(write_environment("/nowhere", {}), IoError);
}

}  // namespace
}  // namespace impart::run
