#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "impart/results/results.h"

namespace impart::results {

// Steps of reading results that both sources share.

/// Deals arms into groups of the same data and model (keys `data.*`, `model.*` among their
/// settings), in the order in which they come.
std::vector<ResultGroup> group_arms(std::vector<ArmResults> arms);

/// The baseline of each group is the arm named `wanted`, else its only vanilla arm, else none.
/// ConfigError if `wanted` is not empty and no group has an arm of that name.
void choose_baselines(std::vector<ResultGroup>& groups,
                      const std::function<bool(const ArmResults&)>& is_vanilla,
                      const std::string& wanted);

/// A short name for an arm from settings: "stripes W20 I30", "random is-pair Q0.3". Keys of data
/// and model are left out: groups are named by them. Vanilla training is "vanilla".
std::string short_name(const SettingTexts& settings);

/// Whether these settings are vanilla training: random, interval 1, no exchange.
bool is_vanilla(const SettingTexts& settings);

/// Gives arms of equal names a number: "stripes (2)".
void make_names_unique(std::vector<ArmResults>& arms);

/// Calls work(0) … work(count - 1) on all cores. The first exception is thrown on.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace impart::results
