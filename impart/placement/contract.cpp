#include "impart/placement/contract.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::placement {
namespace {

using Decision = std::function<Heuristic>;

constexpr std::uint64_t kKindsOfImportance = 7;
constexpr std::uint64_t kStep = 10;  ///< of the checks that need fewer cases

float draw_importance(std::uint64_t kind, RandomStream& random) {
  const auto noise = static_cast<float>(random.exponential());
  const auto small = static_cast<float>(random.below(4));
  switch (kind) {
    case 0:
      return noise;
    case 1:
      return small;  // ties
    case 2:
      return 0;
    case 3:
      return static_cast<float>(random.normal());  // negative numbers
    case 4:
      return small == 0 ? std::numeric_limits<float>::quiet_NaN() : noise;
    case 5:
      return small == 0 ? std::numeric_limits<float>::infinity() : -noise;
    default:
      return std::numeric_limits<float>::quiet_NaN();
  }
}

PartitionSpec spec_of(const ContractCase& c, bool sticky) {
  return {.workers = c.workers,
          .seed = c.number,
          .labels = c.labels,
          .sticky_to = sticky ? &c.previous : nullptr};
}

/// Runs `check` on every `step`-th case and describes the first for which it is not "".
template <class Check>
std::string search_cases(std::uint64_t step, Check&& check) {
  for (std::uint64_t number = 0; number < kContractCases; number += step) {
    const ContractCase c = make_contract_case(number);
    std::string wrong;
    try {
      wrong = check(c);
    } catch (const std::exception& error) {
      wrong = fmt::format("it throws: {}", error.what());
    }
    if (!wrong.empty()) return fmt::format("{}: {}", c.describe(), wrong);
  }
  return "";
}

std::string check_refusal(const Decision& heuristic, std::string_view what,
                          const PartitionSpec& spec) {
  const std::vector<float> importance = {1, 2, 3};
  try {
    heuristic(importance, spec);
  } catch (const ConfigError&) {
    return "";
  } catch (const std::exception& error) {
    return fmt::format("{}: it throws something else than ConfigError: {}", what, error.what());
  }
  return fmt::format("{}: it does not refuse; does it call check_spec?", what);
}

}  // namespace

std::string ContractCase::describe() const {
  return fmt::format("case {}: N = {}, n = {}, Q = {}", number, importance.size(), workers,
                     fraction);
}

ContractCase make_contract_case(std::uint64_t number) {
  RandomStream random({.seed = number, .purpose = Purpose("contract")});
  const std::uint64_t examples = random.below(4) == 0 ? random.below(8) : random.below(201);
  const auto workers = static_cast<std::uint32_t>(1 + random.below(20));
  const std::uint64_t kind = random.below(kKindsOfImportance);
  std::vector<float> importance(examples);
  for (float& value : importance) value = draw_importance(kind, random);
  std::vector<std::uint32_t> labels(examples);
  for (std::uint32_t& label : labels) label = static_cast<std::uint32_t>(random.below(5)) * 1000;
  std::vector<WorkerId> owners(examples);
  for (WorkerId& owner : owners) {
    owner = WorkerId{static_cast<std::uint32_t>(random.below(workers))};
  }
  const std::uint64_t tenths = random.below(11);
  return {.number = number,
          .workers = workers,
          .importance = std::move(importance),
          .labels = std::move(labels),
          .previous = Partition(std::move(owners), workers),
          .fraction = static_cast<double>(tenths) / 10};
}

std::string check_cover(const Decision& heuristic, bool sticky) {
  return search_cases(1, [&](const ContractCase& c) -> std::string {
    const Partition partition = heuristic(c.importance, spec_of(c, sticky));
    if (partition.examples() != c.importance.size() || partition.workers() != c.workers) {
      return fmt::format("a partition of {} examples over {} workers", partition.examples(),
                         partition.workers());
    }
    const auto sizes = partition.sizes();
    const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
    if (*largest - *smallest <= 1) return "";
    return fmt::format("parts of {} to {} examples", *smallest, *largest);
  });
}

std::string check_repetition(const Decision& heuristic, bool sticky) {
  return search_cases(kStep, [&](const ContractCase& c) -> std::string {
    const Partition first = heuristic(c.importance, spec_of(c, sticky));
    const ContractCase copy = make_contract_case(c.number);
    if (first == heuristic(copy.importance, spec_of(copy, sticky))) return "";
    return "two calls with equal inputs give different partitions";
  });
}

std::string check_doubles(const Decision& heuristic, bool sticky) {
  return search_cases(kStep, [&](const ContractCase& c) -> std::string {
    const std::vector<double> doubles(c.importance.begin(), c.importance.end());
    const PartitionSpec spec = spec_of(c, sticky);
    if (heuristic(c.importance, spec) == heuristic(doubles, spec)) return "";
    return "doubles give another partition than equal floats";
  });
}

std::string check_refusals(const Decision& heuristic, bool) {
  const std::vector<std::uint32_t> two_labels = {0, 1};
  const Partition other({WorkerId{0}}, 1);
  std::string wrong = check_refusal(heuristic, "0 workers", {.workers = 0});
  if (wrong.empty()) {
    wrong =
        check_refusal(heuristic, "2 labels for 3 examples", {.workers = 2, .labels = two_labels});
  }
  if (wrong.empty()) {
    wrong = check_refusal(heuristic, "sticky to a partition of 1 example for 3",
                          {.workers = 2, .sticky_to = &other});
  }
  return wrong;
}

std::vector<std::string> find_breaches(const Decision& heuristic) {
  std::vector<std::string> breaches;
  for (const auto& promise : kHeuristicPromises) {
    for (const bool sticky : {false, true}) {
      const std::string wrong = promise.function(heuristic, sticky);
      if (wrong.empty()) continue;
      breaches.push_back(fmt::format("{}{}: {}", promise.name, sticky ? " (sticky)" : "", wrong));
    }
  }
  return breaches;
}

}  // namespace impart::placement
