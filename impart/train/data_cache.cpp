#include "impart/train/data_cache.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/schema.h"
#include "impart/feed/device_copies.h"
#include "impart/train/run_data.h"

namespace impart::train {
namespace {

/// All settings that load_run_data looks at, and some more.
std::string key_of(const config::RunConfig& config) {
  std::string text;
  for (const config::ConfigKey& key : config::make_schema()) {
    const std::string path = key.path();
    if (!path.starts_with("data.") && !path.starts_with("store.")) continue;
    text += fmt::format("{}={}\n", path, fmt::join(key.get(config), ","));
  }
  return text;
}

}  // namespace

feed::LoadedData DataCache::load(const config::RunConfig& config) {
  const std::string key = key_of(config);
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    if (entries_.size() == most_) entries_.pop_back();
    entries_.push_front({key, load_run_data(config)});
    entries_.front().data.copies = std::make_shared<feed::DeviceCopies>();
  }
  return entries_.front().data;
}

}  // namespace impart::train
