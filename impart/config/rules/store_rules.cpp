#include <string>

#include <fmt/format.h>

#include "impart/config/placeholders.h"
#include "impart/config/rules/rules_by_topic.h"
#include "impart/config/rules/situation.h"
#include "impart/core/named_table.h"
#include "impart/data/remote/object_url.h"
#include "impart/store/stores.h"

namespace impart::config {
namespace {

bool is_partitioned(const Situation& s) {
  return !find_entry(store::kStores, "store", s.config.store.kind).holds_all;
}

const store::CachePolicyEntry& cache_policy(const StoreConfig& store) {
  return find_entry(store::kCachePolicies, "cache policy", store.cache_policy);
}

/// Whether anything is said of caches but their size, which every run has.
bool has_own_caches(const StoreConfig& store) {
  return cache_policy(store).is_planned || !store.cache_path.empty() || store.cooperative;
}

constexpr Rule kStoreRules[] = {
    {"root-on-server",
     {"data.root", "data.name"},
     [](const Situation& s) {
       const std::string& name = s.config.data.name;
       return data::is_remote(s.config.data.root) && name != "mds" && name != "imagefolder";
     },
     [](const Situation& s) {
       return fmt::format(
           "data.root is on a server, but data.name is {}: only mds and imagefolder are read from "
           "there; 'impart data pack' makes shards of other data",
           s.config.data.name);
     }},
    {"secrets-in-root",
     {"data.root"},
     [](const Situation& s) {
       return data::is_remote(s.config.data.root) &&
              !data::find_fault_in_root(s.config.data.root).empty();
     },
     [](const Situation& s) { return data::find_fault_in_root(s.config.data.root); }},
    {"files-of-parts",
     {"store.files", "store.kind"},
     [](const Situation& s) { return is_partitioned(s) && s.config.store.files; },
     [](const Situation&) -> std::string {
       return "store.files: true needs store.kind: replicated; parts have a store.path";
     }},
    {"path-of-parts",
     {"store.path", "store.kind"},
     [](const Situation& s) { return !is_partitioned(s) && !s.config.store.path.empty(); },
     [](const Situation&) -> std::string {
       return "store.path needs store.kind: partitioned; replicated stores have no parts";
     }},
    {"path-placeholders",
     {"store.path"},
     [](const Situation& s) { return !find_unknown_placeholder(s.config.store.path).empty(); },
     [](const Situation& s) {
       return describe_unknown_placeholder("store.path", s.config.store.path);
     }},
    {"cache-of-parts",
     {"store.cache_policy", "store.cache_path", "store.cooperative", "store.kind"},
     [](const Situation& s) { return is_partitioned(s) && has_own_caches(s.config.store); },
     [](const Situation&) -> std::string {
       return "store.cache_policy, store.cache_path and store.cooperative need store.kind: "
              "replicated; a partitioned store holds all that its workers visit";
     }},
    {"cache-on-disk",
     {"store.cache_path", "store.cache_disk"},
     [](const Situation& s) {
       return s.config.store.cache_path.empty() != (s.config.store.cache_disk == 0);
     },
     [](const Situation& s) -> std::string {
       return s.config.store.cache_disk == 0
                  ? "store.cache_path needs store.cache_disk: how many MiB each process may keep"
                  : "store.cache_disk needs store.cache_path: the local folder that it is for";
     }},
    {"cache-without-room",
     {"store.cache_policy", "store.cache", "store.cache_disk"},
     [](const Situation& s) {
       const StoreConfig& store = s.config.store;
       return cache_policy(store).is_planned && store.cache == 0 && store.cache_disk == 0;
     },
     [](const Situation& s) {
       return fmt::format(
           "store.cache_policy: {} has no room to keep anything: give store.cache (MiB in memory), "
           "or store.cache_path and store.cache_disk",
           s.config.store.cache_policy);
     }},
    {"cooperating-caches",
     {"store.cooperative", "store.cache_policy"},
     [](const Situation& s) {
       return s.config.store.cooperative && !cache_policy(s.config.store).is_planned;
     },
     [](const Situation& s) {
       return fmt::format(
           "store.cooperative: true needs store.cache_policy: pin or importance; nobody knows what "
           "others keep with {}",
           s.config.store.cache_policy);
     }},
    {"files-of-text",
     {"store.files", "data.name"},
     [](const Situation& s) { return s.config.store.files && is_text(s); },
     [](const Situation&) -> std::string {
       return "store.files: text is read into memory once; take store.files: false";
     }},
    {"store-of-tensors",
     {"store.kind", "store.files"},
     [](const Situation& s) {
       return is_tensors(s) && (is_partitioned(s) || s.config.store.files);
     },
     [](const Situation&) -> std::string {
       return "store: tensors of your own are in memory on every process; for store.kind: "
              "partitioned or store.files give images or an ExampleData";
     }},
};

}  // namespace

std::span<const Rule> store_rules() {
  return kStoreRules;
}

}  // namespace impart::config
