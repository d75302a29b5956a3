// The network of `impart simulate` against SimGrid's: the same messages over the same links end at
// the same times. SimGrid allows one platform per process, so this is a program of its own.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>

#include "impart/core/random.h"
#include "impart/cost/cluster/fluid_network.h"

namespace impart::cost {
namespace {

namespace s4u = simgrid::s4u;
constexpr double kLatency = 1e-4;

struct Sent {
  std::uint32_t from, to;
  double bytes, at;
};

/// No two between the same nodes: those would queue in one connection here, and not there.
std::vector<Sent> random_messages(std::uint32_t nodes, std::size_t count) {
  RandomStream random({.seed = 5, .purpose = Purpose("simgrid-test")});
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sent> messages;
  while (messages.size() < count) {
    const auto from = static_cast<std::uint32_t>(random.below(nodes));
    const auto to = static_cast<std::uint32_t>(random.below(nodes));
    if (from == to) continue;
    const auto bytes = static_cast<double>(2'000 + random.below(1'000'000));
    messages[{from, to}] = {from, to, bytes, 0.05 * random.uniform()};
  }
  std::vector<Sent> sent;
  for (const auto& [ends, message] : messages) sent.push_back(message);
  return sent;
}

std::vector<double> ends_here(const Topology& topology, const std::vector<Sent>& messages) {
  FluidNetwork network(topology, 0);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    network.start(messages[i].from, messages[i].to, messages[i].bytes, messages[i].at, i);
  }
  std::vector<double> ends(messages.size());
  while (!network.idle()) {
    for (const std::uint64_t i : network.advance(std::numeric_limits<double>::infinity())) {
      ends[i] = network.now();
    }
  }
  return ends;
}

std::vector<s4u::Host*> build_platform(const Topology& topology,
                                       const std::vector<Sent>& messages) {
  s4u::NetZone* zone = s4u::create_full_zone("cluster");
  std::vector<s4u::Host*> hosts;
  for (std::uint32_t i = 0; i < topology.spec().nodes; ++i) {
    hosts.push_back(zone->create_host("node" + std::to_string(i), 1e9));
  }
  std::vector<const s4u::Link*> links;
  for (std::uint32_t i = 0; i < topology.links(); ++i) {
    s4u::Link* link = zone->create_link("link" + std::to_string(i), topology.rate(i));
    link->set_latency(i < topology.spec().nodes ? kLatency : 0);
    links.push_back(link->seal());
  }
  for (const Sent& message : messages) {
    std::vector<s4u::LinkInRoute> route;
    const Route way = topology.route(message.from, message.to);
    for (const std::uint32_t link : way.links()) route.emplace_back(links[link]);
    zone->add_route(hosts[message.from]->get_netpoint(), hosts[message.to]->get_netpoint(), nullptr,
                    nullptr, route, /*symmetrical=*/false);
  }
  zone->seal();
  return hosts;
}

std::vector<double> ends_there(s4u::Engine& engine, const Topology& topology,
                               const std::vector<Sent>& messages) {
  const std::vector<s4u::Host*> hosts = build_platform(topology, messages);
  std::vector<double> ends(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Sent& message = messages[i];
    s4u::Actor::create("sender", hosts[message.from], [&, i] {
      s4u::this_actor::sleep_until(message.at);
      s4u::Comm::sendto(hosts[message.from], hosts[message.to],
                        static_cast<std::uint64_t>(message.bytes));
      ends[i] = s4u::Engine::get_clock();
    });
  }
  engine.run();
  return ends;
}

TEST(FluidNetwork, EndsEveryMessageWhenSimGridDoes) {
  std::vector<std::string> words = {"simgrid_test", "--log=root.thres:warning",
                                    "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                                    "--cfg=network/TCP-gamma:0"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  const Topology topology(
      {.nodes = 24, .rate = 1e8, .latency = kLatency, .leaf = 6, .oversubscription = 2});
  const std::vector<Sent> messages = random_messages(24, 300);
  const std::vector<double> here = ends_here(topology, messages);
  const std::vector<double> there = ends_there(engine, topology, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_NEAR(here[i], there[i], 1e-3 * there[i]) << i;
  }
  // They met each other: alone, the last would have been over long before.
  EXPECT_GT(*std::max_element(here.begin(), here.end()), 0.1);
}

}  // namespace
}  // namespace impart::cost
