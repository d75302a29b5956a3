#include "impart/cost/machine.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

class MachineFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) { return folder_.write("m.yaml", text); }
  std::string complaint(const std::string& text) {
    const std::string path = write(text);
    const std::string message = testing::message_of<ConfigError>([&] { load_machine(path); });
    EXPECT_TRUE(message.starts_with(path)) << message;
    return message.substr(std::min(path.size(), message.size()));
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(MachineFile, HasRatesWithUnits) {
  const Machine machine = load_machine(
      write("disk: 2GB/s\nnetwork: 10Gb/s\nlatency: 20us\nfile_system: 10 GB/s\nstep: 0.25s\n"));
  EXPECT_DOUBLE_EQ(machine.disk, 2e9);
  EXPECT_DOUBLE_EQ(machine.network, 1.25e9);
  EXPECT_DOUBLE_EQ(machine.latency, 2e-5);
  EXPECT_DOUBLE_EQ(machine.file_system, 1e10);
  EXPECT_DOUBLE_EQ(machine.step, 0.25);
}

TEST_F(MachineFile, NeedNotSayAll) {
  const Machine machine = load_machine(write("network: 8b/s\n"));
  EXPECT_DOUBLE_EQ(machine.network, 1);
  EXPECT_EQ(machine.disk, 0);
}

TEST_F(MachineFile, SaysWhereItIsWrong) {
  EXPECT_EQ(complaint("disk: 2GB/s\nnetwork: 10Gbps\n"),
            ":2:10: network: '10Gbps' is no rate; did you mean '10Gb/s'?");
  EXPECT_EQ(complaint("netwrok: 1Gb/s\n"),
            ":1:1: unknown key of a machine 'netwrok', did you mean 'network'?");
  EXPECT_EQ(complaint("disk: [2GB/s]\n"),
            ":1:7: disk: '' is no rate; write '25Gb/s' for bits or '2GB/s' for bytes, above 0");
  EXPECT_EQ(complaint("- disk\n"), ":1:1: expected a machine: keys as in 'network: 25Gb/s'");
}

}  // namespace
}  // namespace impart::cost
