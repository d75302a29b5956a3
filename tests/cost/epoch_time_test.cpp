#include "impart/cost/epoch_time.h"

#include <gtest/gtest.h>

namespace impart::cost {
namespace {

// 4 nodes with 1000 examples of 1000 bytes, in 50 steps of 0.1 s: 5 s to compute. Disks and network
// carry 1 MB/s.
TimeSpec four_nodes() {
  return {.machine = {.disk = 1e6, .network = 1e6, .latency = 1e-3, .step = 0.1},
          .nodes = 4,
          .workers = 4,
          .examples = 1000,
          .payload_bytes = 1000,
          .steps = 50};
}

IoCost cost_of(EpochFacts facts) {
  facts.examples = 1000;
  facts.payload_bytes = 1000;
  return epoch_cost(facts);
}

// Before it 200 examples move, on 8 flows.
IoCost exchanging_epoch() {
  return cost_of({.moved = 200, .flows = 8});
}

TEST(EpochTime, ReadingHidesBehindCompute) {
  // 250 examples per node: 250 kB at 1 MB/s.
  const EpochTime time = time_epoch(exchanging_epoch(), four_nodes());
  EXPECT_DOUBLE_EQ(time.compute, 5);
  EXPECT_DOUBLE_EQ(time.reading.seconds, 0.25);
  EXPECT_DOUBLE_EQ(time.reading.hidden, 0.25);

  TimeSpec slow = four_nodes();
  slow.machine.disk = 1e4;  // 25 s, of which 5 hide
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), slow).reading.waits(), 20);
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), slow).total(), 25);
}

TEST(EpochTime, AnExchangeTakesTheSlowerOfNetworkAndDiskAndALatencyPerMessage) {
  // A node sends 50 examples of 1008 bytes: 50.4 ms; reads 50·1000 bytes and writes 50·1096: 104.8
  // ms. 2 messages: 2 ms.
  TimeSpec spec = four_nodes();
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 0.1068);
  spec.layout = StoreLayout::kMemory;
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 0.0524);
  EXPECT_EQ(time_epoch(exchanging_epoch(), spec).exchange.hidden, 0);
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).total(), 5.0524);
  spec.layout = StoreLayout::kReplicated;
  EXPECT_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 0);
}

TEST(EpochTime, WithArrivalsLastAnExchangeHidesBehindWhatStayed) {
  TimeSpec spec = four_nodes();
  spec.arrivals_last = true;
  const EpochTime fast = time_epoch(exchanging_epoch(), spec);
  EXPECT_DOUBLE_EQ(fast.exchange.hidden, fast.exchange.seconds);

  spec.layout = StoreLayout::kMemory;
  spec.machine.network = 5.04e3;  // 10 s and 2 ms; 800 of 1000 examples stayed: 4 s
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 10.002);
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).exchange.hidden, 4);
  // The mean of 4 epochs of which one moves 800: 0.2 of it stayed, 1 s, or 0.25 s per epoch.
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec, 0.25).exchange.hidden, 0.25);
}

TEST(EpochTime, WorkersOfOneNodeSendNothing) {
  TimeSpec spec = four_nodes();
  spec.layout = StoreLayout::kMemory;
  spec.workers = 8;  // a worker's 7 others: 6 are on other nodes
  EXPECT_DOUBLE_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 0.0524 * 6 / 7);
  spec.nodes = 1;
  EXPECT_EQ(time_epoch(exchanging_epoch(), spec).exchange.seconds, 0);
}

TEST(EpochTime, AForwardPassTakesAThirdOfTheSteps) {
  const IoCost cost = cost_of({.importance_pass = true});
  const EpochTime time = time_epoch(cost, four_nodes());
  EXPECT_DOUBLE_EQ(time.forward, 5.0 / 3);
  EXPECT_DOUBLE_EQ(time.reading.seconds, 0.5);  // everything is read twice
  EXPECT_DOUBLE_EQ(time.total(), 20.0 / 3);
}

TEST(EpochTime, ASelectionComputesAndReadsLess) {
  const IoCost cost = cost_of({.visits = 600, .hidden = 400, .refreshed = 400});
  const EpochTime time = time_epoch(cost, four_nodes());
  EXPECT_DOUBLE_EQ(time.compute, 3);
  EXPECT_DOUBLE_EQ(time.forward, 0.4 * 5 / 3);
  EXPECT_DOUBLE_EQ(time.reading.seconds, 0.25);
}

TEST(EpochTime, GradientsGoRoundARingDuringTheBackwardPass) {
  TimeSpec spec = four_nodes();
  spec.parameters = 1000;  // 2·4000·3/4 bytes: 6 ms, and 6 messages: 6 ms; 50 times
  const EpochTime little = time_epoch(cost_of({}), spec);
  EXPECT_DOUBLE_EQ(little.gradients.seconds, 0.6);
  EXPECT_DOUBLE_EQ(little.gradients.waits(), 0);
  spec.parameters = 100'000;  // 606 ms beside 66.7 ms of backward pass
  const EpochTime large = time_epoch(cost_of({}), spec);
  EXPECT_DOUBLE_EQ(large.gradients.seconds, 30.3);
  EXPECT_DOUBLE_EQ(large.gradients.hidden, 50 * 0.2 / 3);
  spec.nodes = spec.workers = 1;
  EXPECT_EQ(time_epoch(cost_of({}), spec).gradients.seconds, 0);
}

TEST(EpochTime, NormsWaitForTheirSumsInEveryStep) {
  TimeSpec spec = four_nodes();
  const double before = time_epoch(cost_of({}), spec).total();
  // Two rounds of 6 messages of 1 ms and of 3000 bytes at 1 MB/s, 50 times.
  spec.statistics = {.sums = 6, .bytes = 3000, .nodes = 4};
  const EpochTime time = time_epoch(cost_of({}), spec);
  EXPECT_DOUBLE_EQ(time.statistics, 50 * 2 * (0.006 + 0.003));
  EXPECT_DOUBLE_EQ(time.total(), before + time.statistics);
  spec.statistics.nodes = 5;  // a third round
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), spec).statistics, 50 * 3 * (0.006 + 0.003));
}

TEST(EpochTime, AFileSystemIsSharedAndBehindTheNetwork) {
  TimeSpec spec = four_nodes();
  spec.layout = StoreLayout::kReplicated;
  spec.machine.file_system = 2e6;  // 0.5 MB/s for each node: 250 kB in 0.5 s
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), spec).reading.seconds, 0.5);
  spec.machine.file_system = 4e7;  // but a node receives 1 MB/s
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), spec).reading.seconds, 0.25);
  spec.machine.file_system = 2e6;
  spec.layout = StoreLayout::kDirectories;  // on disks ...
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), spec).reading.seconds, 0.25);
  spec.machine.disk = 0;  // ... or, where there are none, there, too
  EXPECT_DOUBLE_EQ(time_epoch(cost_of({}), spec).reading.seconds, 0.5);
}

TEST(EpochTime, TheFirstEpochWaitsForItsPart) {
  // 250 kB fetched: 0.25 s; with journal records 262 kB written; then 0.25 s of reading that hides.
  const IoCost first = cost_of({.is_first = true});
  TimeSpec spec = four_nodes();
  EXPECT_DOUBLE_EQ(time_epoch(first, spec).reading.seconds, 0.762);
  EXPECT_DOUBLE_EQ(time_epoch(first, spec).reading.waits(), 0.512);
  spec.layout = StoreLayout::kMemory;
  EXPECT_DOUBLE_EQ(time_epoch(first, spec).reading.waits(), 0.25);
}

TEST(EpochTime, WhatIsNotKnownTakesNoTime) {
  TimeSpec spec = four_nodes();
  spec.machine = {};
  spec.parameters = 1000;
  EXPECT_EQ(time_epoch(exchanging_epoch(), spec).total(), 0);
  spec.examples = 0;
  EXPECT_EQ(time_epoch({}, spec).total(), 0);
}

TEST(StrategyTime, ARunIsItsFirstEpochAndTheOthers) {
  StrategyCost cost;
  cost.first = cost_of({.is_first = true});
  cost.later = exchanging_epoch();
  cost.events = 11;
  const StrategyTime time = time_strategy(cost, four_nodes(), 11);
  EXPECT_DOUBLE_EQ(time.first.total(), 5.512);
  EXPECT_DOUBLE_EQ(time.later.total(), 5.1068);
  EXPECT_DOUBLE_EQ(time.run, 5.512 + 10 * 5.1068);
  EXPECT_DOUBLE_EQ(time_strategy(cost, four_nodes(), 1).run, 5.512);
}

}  // namespace
}  // namespace impart::cost
