#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "impart/config/yaml_file.h"
#include "impart/core/error.h"
#include "impart/study/spec.h"

namespace impart::study {

/// What the parts of a study's file have in common: values that follow a rule, and settings of the
/// configuration. Every ConfigError says where in the file. Only sources include this: it needs
/// yaml-cpp.
class StudyYaml {
 public:
  StudyYaml(const std::string& path, const config::Schema& schema) : path_(path), schema_(schema) {}

  const std::string& path() const { return path_; }
  const config::Schema& schema() const { return schema_; }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    config::fail_at(path_, node.Mark(), what);
  }

  /// What `call` returns; its ConfigError gets the place of the node and the name of the key.
  template <class Call>
  auto at(const YAML::Node& node, std::string_view key, const Call& call) const {
    try {
      return call();
    } catch (const ConfigError& error) {
      fail(node, fmt::format("{}: {}", key, error.what()));
    }
  }

  /// One value that follows the rule.
  template <class T>
  T value(const YAML::Node& node, std::string_view key, const config::ValueRule<T>& rule) const {
    if (!node.IsScalar()) {
      fail(node, fmt::format("{}: expected one value; allowed: {}", key, rule.allowed));
    }
    return at(node, key, [&] { return rule.read({node.Scalar()}); });
  }

  /// Every key is one of `allowed`, once, and has a value. `what` is the word for a key.
  void check_map(const YAML::Node& map, std::string_view what,
                 std::span<const std::string_view> allowed) const;

  using VisitKey = std::function<void(const config::ConfigKey&, const YAML::Node&)>;
  /// Calls `visit` for every key of the configuration in the map. Keys may be nested as in a run's
  /// file, or written with a dot. An arm's `baseline` is passed over.
  void visit_keys(const YAML::Node& map, const VisitKey& visit, bool in_arm = false) const;

  /// The settings of an arm.
  Settings read_settings(const YAML::Node& map) const;

  /// Keys with one value, a list of them, or a range {from, to, step}.
  Grid read_grid(const YAML::Node& map) const;

 private:
  void visit_key(const std::string& path, const YAML::Node& name, const YAML::Node& node,
                 const VisitKey& visit) const;
  config::WrittenValue checked(const config::ConfigKey& key, const config::WrittenValue& written,
                               const YAML::Node& node) const;
  std::vector<config::WrittenValue> read_values(const config::ConfigKey& key,
                                                const YAML::Node& node) const;
  std::vector<std::string> read_range(const config::ConfigKey& key, const YAML::Node& map) const;

  const std::string& path_;
  const config::Schema& schema_;
};

}  // namespace impart::study
