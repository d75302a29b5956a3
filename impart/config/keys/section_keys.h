#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "impart/config/schema.h"

namespace impart::config {

inline constexpr std::uint32_t kMostEpochs = 1'000'000;
inline constexpr bool kSameResult = false;

/// The keys of one section, which is a member of the config, or the config itself.
template <class Section>
class SectionKeys {
 public:
  SectionKeys(Schema& schema, std::string_view name, Section RunConfig::*section)
      : schema_(schema), name_(name), section_(section) {}
  explicit SectionKeys(Schema& schema) : schema_(schema) {}

  template <class T>
  ConfigKey& key(std::string_view name, T Section::*member, const ValueRule<T>& rule,
                 std::string_view help, bool changes_result = true) {
    const auto set = [section = section_, member, read = rule.read](RunConfig& config,
                                                                    const WrittenValue& value) {
      part(config, section).*member = read(value);
    };
    const auto get = [section = section_, member, write = rule.write](const RunConfig& config) {
      return write(part(config, section).*member);
    };
    schema_.push_back({.section = name_,
                       .name = name,
                       .help = help,
                       .allowed = rule.allowed,
                       .is_list = rule.is_list,
                       .joins_lists = rule.joins_lists,
                       .changes_result = changes_result,
                       .set = set,
                       .get = get});
    if constexpr (std::is_base_of_v<Epochs, T> || std::is_same_v<T, std::optional<Epochs>>) {
      schema_.back().resolve_share = [section = section_, member](RunConfig& config) {
        count_epochs(part(config, section).*member, config.epochs);
      };
    }
    return schema_.back();
  }

 private:
  template <class T>
  static void count_epochs(T& value, std::uint32_t epochs) {
    value = T(value.of(epochs));
  }
  template <class T>
  static void count_epochs(std::optional<T>& value, std::uint32_t epochs) {
    if (value) count_epochs(*value, epochs);
  }

  template <class Config>
  static auto& part(Config& config, [[maybe_unused]] Section RunConfig::*section) {
    if constexpr (std::is_same_v<Section, RunConfig>) {
      return config;
    } else {
      return config.*section;
    }
  }

  Schema& schema_;
  std::string_view name_ = "";
  Section RunConfig::*section_ = nullptr;
};

/// A rule without names takes any.
inline std::vector<std::string_view> none_if(bool any, const std::vector<std::string_view>& names) {
  return any ? std::vector<std::string_view>{} : names;
}

}  // namespace impart::config
