#include "impart/study/server.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace impart::study {
namespace {

using Json = nlohmann::ordered_json;

/// A server that was told to stop ends so.
constexpr int kStopped = 85;
/// Runs at a time of a server on a GPU, however many it is given: torch has so many streams.
constexpr std::uint32_t kMostStreams = 32;

std::string text_of(const ChildEnd& end) {
  if (end.signal == 0) return fmt::format("ended with exit code {}", end.code);
  return fmt::format("was killed by signal {} ({})", end.signal, ::strsignal(end.signal));
}

}  // namespace

RunServer::RunServer(const Spec& spec)
    : process_({.command = {spec.program, "serve", "--card", fmt::to_string(spec.card), "--streams",
                            fmt::to_string(spec.streams)},
                .log = spec.log,
                .has_pipes = true,
                .environment = spec.environment}),
      card_(spec.card) {}

void RunServer::start(const RunOrder& order) {
  const Json line = {{"run", order.run}, {"folder", order.folder}, {"threads", order.threads}};
  process_.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  runs_.push_back(order.run);
}

std::vector<EndedRun> RunServer::take_ended() {
  std::vector<EndedRun> ended;
  unread_ += process_.read();
  std::size_t start = 0;
  for (std::size_t end = 0; (end = unread_.find('\n', start)) != std::string::npos;
       start = end + 1) {
    take_line(unread_.substr(start, end - start), ended);
  }
  unread_.erase(0, start);
  return ended;
}

void RunServer::take_line(const std::string& line, std::vector<EndedRun>& ended) {
  const Json said = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return;
  if (said.contains("cards")) cards_ = said.value("cards", 0u);
  const auto found = std::find(runs_.begin(), runs_.end(), said.value("run", std::size_t{0}));
  if (found == runs_.end()) return;
  begun_.insert(*found);
  if (!said.contains("code")) return;
  ended.push_back({.run = *found, .end = {.code = said.value("code", 0)}});
  runs_.erase(found);
}

bool ServerPool::has_room(std::uint32_t jobs) {
  const std::uint32_t cards = cards_.value_or(0);
  const std::uint32_t streams = cards > 0 ? (jobs + cards - 1) / cards : 1;
  chosen_ = find_room(streams);
  const bool is_asking = spec_.may_use_gpu && !cards_ && !servers_.empty();
  const std::size_t most = cards > 0 ? cards : jobs;
  if (chosen_ == nullptr && !is_asking && servers_.size() < most) {
    add_server(spec_.may_use_gpu ? kMostStreams : 1);
    chosen_ = &servers_.back();
  }
  return chosen_ != nullptr;
}

/// The server with the fewest runs, if it may have another.
RunServer* ServerPool::find_room(std::uint32_t streams) {
  const auto least = std::min_element(
      servers_.begin(), servers_.end(),
      [](const RunServer& a, const RunServer& b) { return a.runs().size() < b.runs().size(); });
  return least != servers_.end() && least->runs().size() < streams ? &*least : nullptr;
}

/// On the first card that no server has.
void ServerPool::add_server(std::uint32_t streams) {
  std::uint32_t card = 0;
  const auto has_card = [&](const RunServer& server) { return server.card() == card; };
  while (std::any_of(servers_.begin(), servers_.end(), has_card)) ++card;
  servers_.push_back(RunServer({.program = spec_.program,
                                .log = spec_.log,
                                .card = card,
                                .streams = streams,
                                .environment = spec_.environment}));
}

void ServerPool::start(const RunOrder& order) {
  chosen_->start(order);
}

std::size_t ServerPool::running() const {
  return runs().size();
}

std::vector<std::size_t> ServerPool::runs() const {
  std::vector<std::size_t> all;
  for (const RunServer& server : servers_) {
    all.insert(all.end(), server.runs().begin(), server.runs().end());
  }
  return all;
}

ServerPool::Ends ServerPool::collect() {
  Ends ends;
  for (std::size_t i = 0; i < servers_.size();) {
    const auto death = servers_[i].poll();  // before its last words are read
    std::vector<EndedRun> ended = servers_[i].take_ended();
    std::move(ended.begin(), ended.end(), std::back_inserter(ends.runs));
    if (servers_[i].cards() && !cards_) cards_ = servers_[i].cards();
    if (death) {
      bury(i, *death, ends);
    } else {
      ++i;
    }
  }
  return ends;
}

void ServerPool::bury(std::size_t server, const ChildEnd& end, Ends& ends) {
  const bool was_stopped = end.signal == 0 && end.code == kStopped;
  for (const std::size_t run : servers_[server].runs()) {
    if (!was_stopped) {
      ends.orphans.push_back(run);
      ends.death = text_of(end);
    } else if (servers_[server].has_begun(run)) {
      ends.runs.push_back({.run = run, .end = end});
    } else {
      ends.returned.push_back(run);
    }
  }
  std::vector<RunServer> others;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (i != server) others.push_back(std::move(servers_[i]));
  }
  servers_.swap(others);
  chosen_ = nullptr;
}

void ServerPool::signal(int number) {
  for (RunServer& server : servers_) server.signal(number);
}

}  // namespace impart::study
