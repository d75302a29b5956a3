#include "impart/comm/launcher.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::comm {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::optional<Launcher> detect(const Variables& variables) {
  return detect_launcher(environment_of(variables));
}

TEST(Launcher, TellsWhetherAJobIsOnOneMachine) {
  const Variables one = {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  const Variables two = {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Variables unknown = {{"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_TRUE(is_on_one_machine(environment_of(one)));
  EXPECT_FALSE(is_on_one_machine(environment_of(two)));
  EXPECT_FALSE(is_on_one_machine(environment_of(unknown)));
}

TEST(Launcher, IsNoneForThePlainCommand) {
  EXPECT_FALSE(detect({}));
}

TEST(Launcher, IsMpirunOfOpenMpi) {
  const auto launcher = detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->name, "mpirun");
  EXPECT_EQ(launcher->processes, 4u);
}

TEST(Launcher, IsMpirunEvenIfItUsedSrunToReachTheMachines) {
  const auto launcher = detect({{"OMPI_COMM_WORLD_SIZE", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->processes, 8u);
}

TEST(Launcher, NeedsNoMpiForOneProcess) {
  EXPECT_FALSE(detect({{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}));
  EXPECT_FALSE(detect({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}));
  EXPECT_FALSE(detect({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(detect({{"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(Launcher, IsSrunWithPmi) {
  for (const char* variable : {"PMIX_RANK", "PMI_RANK"}) {
    const auto launcher = detect({{variable, "0"}, {"SLURM_STEP_NUM_TASKS", "3"}});
    ASSERT_TRUE(launcher);
    EXPECT_EQ(launcher->name, "srun");
    EXPECT_EQ(launcher->processes, 3u);
  }
}

TEST(Launcher, MayNotSayHowManyItStarted) {
  const auto launcher = detect({{"PMIX_RANK", "0"}});
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->processes, 0u);
}

TEST(Launcher, IsNoneInABatchScript) {
  EXPECT_FALSE(detect({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}}));
}

TEST(Launcher, RefusesSrunWithoutMpi) {
  EXPECT_THROW(detect({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}}), ConfigError);
}

TEST(Launcher, RefusesNonsense) {
  for (const char* text : {"", "four", "0", "-1", "4x", "99999999999"}) {
    EXPECT_THROW(detect({{"OMPI_COMM_WORLD_SIZE", text}}), ConfigError) << text;
  }
}

Neighbours find(const Variables& variables) {
  return find_neighbours(*make_single_communicator(), environment_of(variables));
}

TEST(Neighbours, AreWhatTheLauncherSays) {
  const Neighbours mpirun =
      find({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}});
  EXPECT_EQ(mpirun.processes, 4u);
  EXPECT_EQ(mpirun.number, 3u);
  const Neighbours srun = find({{"SLURM_NTASKS_PER_NODE", "2"}, {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(srun.processes, 2u);
  EXPECT_EQ(srun.number, 0u);
}

TEST(Neighbours, AreTheWholeJobWhereNobodySays) {
  EXPECT_EQ(find({}).processes, 1u);
  EXPECT_EQ(find({{"MPI_LOCALNRANKS", "0"}}).processes, 1u);
  EXPECT_EQ(find({{"SLURM_LOCALID", "-1"}}).number, 0u);
}

TEST(Neighbours, HaveOneThatIsTheFirstOnItsMachine) {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const Variables first = {{variable, "0"}}, second = {{variable, "1"}};
    EXPECT_TRUE(is_first_on_machine(environment_of(first))) << variable;
    EXPECT_FALSE(is_first_on_machine(environment_of(second))) << variable;
  }
  const Variables alone;
  EXPECT_TRUE(is_first_on_machine(environment_of(alone)));
}

}  // namespace
}  // namespace impart::comm
