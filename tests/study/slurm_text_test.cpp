#include <gtest/gtest.h>

#include "impart/study/slurm.h"

namespace impart::study {
namespace {

TEST(SlurmText, JobsAreReadWithAnyName) {
  const std::vector<SlurmJob> expected = {
      {.id = "17", .name = "stripes/6-1f3a5b7c", .state = "RUNNING", .reason = "None"},
      {.id = "18_[1-3]", .name = "a|b c", .state = "PENDING", .reason = "Nodes are DOWN, or so"}};
  EXPECT_EQ(read_jobs("17|RUNNING|None|stripes/6-1f3a5b7c\n"
                      "18_[1-3]|PENDING|Nodes are DOWN, or so|a|b c\n"),
            expected);
}

TEST(SlurmText, LinesThatAreNoJobsAreLeftOut) {
  EXPECT_TRUE(read_jobs("").empty());
  EXPECT_TRUE(read_jobs("slurm_load_jobs error\n17|RUNNING\n\n").empty());
}

TEST(SlurmText, AnEndIsAStateACodeAndASignal) {
  const SlurmEnd failed = read_end(
      "JobId=9 JobName=x JobState=FAILED Reason=NonZeroExitCode Restarts=1 ExitCode=74:0 "
      "RunTime=1\n");
  EXPECT_EQ(failed, (SlurmEnd{.state = "FAILED", .code = 74, .signal = 0}));
  const SlurmEnd killed = read_end("JobId=9 JobState=NODE_FAIL ExitCode=0:9");
  EXPECT_EQ(killed, (SlurmEnd{.state = "NODE_FAIL", .code = 0, .signal = 9}));
  EXPECT_EQ(read_end("slurm_load_jobs error: Invalid job id specified"), SlurmEnd{});
}

TEST(SlurmText, AnIdMayBeFollowedByACluster) {
  EXPECT_EQ(read_job_id("17\n"), "17");
  EXPECT_EQ(read_job_id("17;north\n"), "17");
  EXPECT_EQ(read_job_id("Submitted batch job 17\n"), "");
  EXPECT_EQ(read_job_id(""), "");
}

}  // namespace
}  // namespace impart::study
