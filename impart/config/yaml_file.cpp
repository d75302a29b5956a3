#include "impart/config/yaml_file.h"

#include <map>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::config {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kDeepest = 32;

/// Follows a parser through a text, and stops it where something is out of proportion. YAML::Load
/// would not: it builds any depth, and aliases of aliases that stand for more than memory holds.
/// YAML::LoadAll finds empty documents without end before a comma.
class DocumentCheck final : public YAML::EventHandler {
 public:
  DocumentCheck(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    const bool is_told = text_.compare(static_cast<std::size_t>(mark.pos), 3, "---") == 0;
    fail_at(path_, mark,
            is_told ? "a second document; expected only one"
                    : "not valid YAML: this belongs to nothing before it");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    leaf(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto size = sizes_.find(anchor);
    if (size == sizes_.end()) fail_at(path_, mark, "an alias inside of what it stands for");
    add(mark, size->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Collection {
    YAML::anchor_t anchor;
    std::size_t nodes_before;
  };

  void add(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kMostNodes) {
      fail_at(
          path_, mark,
          fmt::format("over {} values with what aliases stand for: no configuration has so many",
                      kMostNodes));
    }
  }
  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor) {
    add(mark, 1);
    sizes_[anchor] = 1;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    open_.push_back({anchor, nodes_});
    add(mark, 1);
    if (open_.size() > kDeepest) {
      fail_at(path_, mark, fmt::format("nested deeper than {} levels", kDeepest));
    }
  }
  void close() {
    sizes_[open_.back().anchor] = nodes_ - open_.back().nodes_before;
    open_.pop_back();
  }

  const std::string& path_;
  const std::string& text_;
  int documents_ = 0;
  std::size_t nodes_ = 0;
  std::vector<Collection> open_;
  std::map<YAML::anchor_t, std::size_t> sizes_;  ///< of what has an anchor, and is complete
};

}  // namespace

void fail_at(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  if (mark.is_null()) throw ConfigError(fmt::format("{}: {}", path, what));
  throw ConfigError(fmt::format("{}:{}:{}: {}", path, mark.line + 1, mark.column + 1, what));
}

YAML::Node parse_yaml(const std::string& path, const std::string& text) {
  if (text.size() > kMostBytes) {
    throw ConfigError(fmt::format("{}: {} bytes are no configuration: {} are the most", path,
                                  text.size(), kMostBytes));
  }
  try {
    DocumentCheck check(path, text);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(check)) continue;
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail_at(path, error.mark, fmt::format("not valid YAML: {}", error.msg));
  }
}

YAML::Node parse_yaml(const std::string& path) {
  try {
    return parse_yaml(path, std::string(InputFile(path).text()));
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
}

WrittenValue written_value(const std::string& path, const YAML::Node& node, const ConfigKey& key) {
  if (node.IsScalar()) return {node.Scalar()};
  if (!node.IsSequence() || !(key.is_list || key.joins_lists)) {
    const char* found = node.IsMap() ? "a section" : node.IsNull() ? "no value" : "a list";
    fail_at(path, node.Mark(),
            fmt::format("{}: found {}; allowed: {}", key.path(), found, key.allowed));
  }
  WrittenValue value;
  for (const auto& item : node) {
    if (!item.IsScalar()) {
      fail_at(path, item.Mark(), fmt::format("{}: expected a name", key.path()));
    }
    value.push_back(item.Scalar());
  }
  return value;
}

void set_key(const std::string& path, const YAML::Node& node, const ConfigKey& key,
             RunConfig& config) {
  const WrittenValue value = written_value(path, node, key);
  try {
    key.set(config, value);
  } catch (const ConfigError& error) {
    fail_at(path, node.Mark(), fmt::format("{}: {}", key.path(), error.what()));
  }
}

}  // namespace impart::config
