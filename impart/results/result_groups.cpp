#include "impart/results/result_groups.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/named_table.h"

namespace impart::results {
namespace {

bool names_a_group(std::string_view key) {
  return key.starts_with("data.") || key.starts_with("model.");
}

std::string group_name(const SettingTexts& settings) {
  std::string name;
  for (const auto& [key, value] : settings) {
    if (!names_a_group(key) || value.empty()) continue;
    name += (name.empty() ? "" : " ") + value;
  }
  return name;
}

/// How a setting appears in an arm's name; "" to leave it out.
std::string short_setting(const std::string& key, const std::string& value) {
  if (key == "partition.heuristic" || key == "importance.notion") return value;
  if (key == "exchange.strategy") return value == "none" ? "" : value;
  if (key == "partition.warmup") return "W" + value;
  if (key == "partition.interval") return "I" + value;
  if (key == "exchange.fraction") return "Q" + value;
  if (key == "partition.sticky") return value == "true" ? "sticky" : "";
  const std::size_t dot = key.rfind('.');
  return key.substr(dot == std::string::npos ? 0 : dot + 1) + "=" + value;
}

void find_baseline(ResultGroup& group, const std::function<bool(const ArmResults&)>& is_vanilla,
                   const std::string& wanted) {
  std::vector<std::size_t> vanilla;
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    if (group.arms[i].name == wanted) group.baseline = i;
    if (is_vanilla(group.arms[i])) vanilla.push_back(i);
  }
  if (!group.baseline && vanilla.size() == 1) group.baseline = vanilla.front();
}

}  // namespace

std::vector<ResultGroup> group_arms(std::vector<ArmResults> arms) {
  std::vector<ResultGroup> groups;
  for (ArmResults& arm : arms) {
    const std::string name = group_name(arm.settings);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const ResultGroup& group) { return group.name == name; });
    if (found == groups.end()) found = groups.insert(groups.end(), ResultGroup{.name = name});
    found->arms.push_back(std::move(arm));
  }
  return groups;
}

void choose_baselines(std::vector<ResultGroup>& groups,
                      const std::function<bool(const ArmResults&)>& is_vanilla,
                      const std::string& wanted) {
  std::vector<std::string_view> names;
  for (ResultGroup& group : groups) {
    for (const ArmResults& arm : group.arms) names.push_back(arm.name);
    find_baseline(group, is_vanilla, wanted);
  }
  if (!wanted.empty() && std::find(names.begin(), names.end(), wanted) == names.end()) {
    throw_unknown_name("arm", wanted, names);
  }
}

bool is_vanilla(const SettingTexts& settings) {
  const std::string_view exchange = setting(settings, "exchange.strategy");
  return setting(settings, "partition.heuristic") == "random" &&
         setting(settings, "partition.interval") == "1" && (exchange.empty() || exchange == "none");
}

std::string short_name(const SettingTexts& settings) {
  if (is_vanilla(settings)) return "vanilla";
  std::string name;
  for (const auto& [key, value] : settings) {
    if (names_a_group(key)) continue;
    const std::string part = short_setting(key, value);
    if (!part.empty()) name += (name.empty() ? "" : " ") + part;
  }
  return name.empty() ? "all runs" : name;
}

void make_names_unique(std::vector<ArmResults>& arms) {
  std::map<std::string, int> seen;
  for (ArmResults& arm : arms) {
    const int number = ++seen[group_name(arm.settings) + "\n" + arm.name];
    if (number > 1) arm.name += fmt::format(" ({})", number);
  }
}

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(cores, count); ++i) threads.emplace_back(take_turns);
  take_turns();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace impart::results
