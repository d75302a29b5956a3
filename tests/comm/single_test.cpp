#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "impart/comm/communicator.h"
#include "impart/comm/job.h"
#include "impart/core/error.h"

namespace impart::comm {
namespace {

TEST(Single, IsWhatAPlainProcessGets) {
  const auto communicator = make_communicator();
  EXPECT_EQ(communicator->rank(), 0u);
  EXPECT_EQ(communicator->size(), 1u);
}

TEST(Single, LeavesReducedValuesAsTheyAre) {
  const auto communicator = make_single_communicator();
  std::vector<float> floats = {1, 2};
  std::vector<double> doubles = {3};
  std::vector<std::int64_t> integers = {4};
  communicator->all_reduce_sum(floats);
  communicator->all_reduce_max(floats);
  communicator->all_reduce_sum(doubles);
  communicator->all_reduce_max(doubles);
  communicator->all_reduce_sum(integers);
  communicator->all_reduce_max(integers);
  const auto pending = communicator->start_all_reduce_sum(floats);
  EXPECT_TRUE(pending->test());
  pending->wait();
  EXPECT_EQ(floats, (std::vector<float>{1, 2}));
  EXPECT_EQ(doubles, (std::vector<double>{3}));
  EXPECT_EQ(integers, (std::vector<std::int64_t>{4}));
}

TEST(Single, GathersItsOwnContribution) {
  const auto communicator = make_single_communicator();
  const std::vector<float> mine = {1, 2, 3};
  std::vector<float> all(3);
  communicator->all_gather(mine, std::array{std::size_t{3}}, all);
  EXPECT_EQ(all, mine);
}

TEST(Single, SendsNothing) {
  const auto communicator = make_single_communicator();
  std::vector<float> values(100);
  communicator->barrier();
  communicator->broadcast(std::as_writable_bytes(std::span(values)), 0);
  communicator->all_reduce_sum(values);
  communicator->start_all_reduce_sum(values)->wait();
  std::vector<float> all(100);
  communicator->all_gather(values, std::array{std::size_t{100}}, all);
  EXPECT_EQ(communicator->traffic().bytes, 0u);
  EXPECT_EQ(communicator->traffic().messages, 0u);
}

TEST(Single, RefusesCountsThatDoNotFit) {
  const auto communicator = make_single_communicator();
  const std::vector<float> mine(3);
  std::vector<float> all(3), small(2);
  EXPECT_THROW(communicator->all_gather(mine, std::array{std::size_t{2}}, all), ConfigError);
  EXPECT_THROW(communicator->all_gather(mine, std::array{std::size_t{3}}, small), ConfigError);
  EXPECT_THROW(communicator->all_gather(mine, std::array{std::size_t{3}, std::size_t{0}}, all),
               ConfigError);
  EXPECT_THROW(communicator->broadcast({}, 1), ConfigError);
}

TEST(Single, HasNobodyToSendTo) {
  const auto communicator = make_single_communicator();
  std::vector<std::byte> bytes(3);
  for (const std::uint32_t other : {0u, 1u}) {
    EXPECT_THROW(communicator->start_send(bytes, other, 0), ConfigError);
    EXPECT_THROW(communicator->start_receive(bytes, other, 0), ConfigError);
  }
  EXPECT_EQ(communicator->traffic().messages, 0u);
}

TEST(Job, ReturnsWhatItsBodyReturns) {
  const auto communicator = make_single_communicator();
  EXPECT_EQ(run_job(*communicator, [] { return 7; }), 7);
}

/// Keeps the reason that it is told.
class Listener final : public Communicator {
 public:
  Listener() : Communicator(0, 1) {}
  void announce_failure(std::string_view reason) noexcept override { reason_ = reason; }
  const std::string& reason() const { return reason_; }
  void wait_until(const std::function<bool()>&) override {}

 private:
  void do_barrier() override {}
  void do_broadcast(std::span<std::byte>, std::uint32_t) override {}
  void do_all_reduce(const Values&, Reduction) override {}
  std::unique_ptr<PendingOperation> do_start_all_reduce(const Values&, Reduction) override {
    return nullptr;
  }
  std::unique_ptr<PendingOperation> do_start_send(std::span<const std::byte>, std::uint32_t,
                                                  std::uint32_t) override {
    return nullptr;
  }
  std::unique_ptr<PendingOperation> do_start_receive(std::span<std::byte>, std::uint32_t,
                                                     std::uint32_t) override {
    return nullptr;
  }
  void do_all_gather(std::span<const std::byte>, std::span<const std::size_t>,
                     std::span<std::byte>) override {}
  std::string reason_;
};

TEST(Job, AnnouncesWhatItsBodyThrowsAndLetsItPass) {
  Listener listener;
  EXPECT_THROW(run_job(listener, [] { throw DataError("a.bin: offset 3"); }), DataError);
  EXPECT_EQ(listener.reason(), "a.bin: offset 3");
  EXPECT_THROW(run_job(listener, [] { throw 1; }), int);
  EXPECT_EQ(listener.reason(), "an exception without a message");
}

}  // namespace
}  // namespace impart::comm
