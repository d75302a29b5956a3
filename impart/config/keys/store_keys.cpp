#include "impart/config/keys/keys.h"
#include "impart/config/keys/section_keys.h"
#include "impart/store/stores.h"

namespace impart::config {

void add_store(Schema& schema) {
  SectionKeys store(schema, "store", &RunConfig::store);
  store.key("kind", &StoreConfig::kind, name_of("store", names_of(store::kStores)),
            "every process can read all examples, or holds only those of its workers");
  store.key("files", &StoreConfig::files, flag(),
            "replicated: read examples from their files at every visit, not once into memory");
  store.key("cache", &StoreConfig::cache, whole(0u, 1u << 24, "MiB"),
            "MiB per process that keep what was read from files; 0: none");
  store
      .key("cache_policy", &StoreConfig::cache_policy,
           name_of("cache policy", names_of(store::kCachePolicies)),
           "what a cache keeps: what was used last, what was read first, or what will be visited")
      .counts_at_default = false;
  store.key("cache_path", &StoreConfig::cache_path, text(),
            "local folder that keeps what was read from files, for the next run as well; empty: "
            "none",
            kSameResult);
  store
      .key("cache_disk", &StoreConfig::cache_disk, whole(0u, 1u << 30, "MiB"),
           "MiB per process in store.cache_path")
      .counts_at_default = false;
  store
      .key("cooperative", &StoreConfig::cooperative, flag(),
           "what another process keeps comes from there, over MPI, not from files")
      .counts_at_default = false;
  using enum store::MoveFrom;
  store
      .key("move_from", &StoreConfig::move_from,
           choice<store::MoveFrom>("move_from",
                                   {{"peer", kPeer}, {"source", kSource}, {"auto", kAuto}}),
           "where what is cached comes from when its owner changes: the process that has it, "
           "files, or whichever was measured to be faster")
      .counts_at_default = false;
  store.key(
      "path", &StoreConfig::path, text(),
      "partitioned: local folder for the workers' parts, may have {name} and {seed}; empty: in "
      "memory",
      kSameResult);
}

void add_remote(Schema& schema) {
  SectionKeys store(schema, "store", &RunConfig::store);
  store.key("prefetch", &StoreConfig::prefetch, whole(0u, 1u << 20, "MiB"),
            "MiB per process for payloads read ahead from a server; 0: none are", kSameResult);
  SectionKeys remote(schema, "remote", &RunConfig::remote);
  remote.key("connections", &RemoteConfig::connections, whole(1u, 1024u),
             "to a server at once, of each process and part of the data", kSameResult);
  remote.key("retries", &RemoteConfig::retries, whole(0u, 1000u),
             "of a request to a server, after failures that may pass", kSameResult);
  remote.key("timeout", &RemoteConfig::timeout, whole(1u, 3600u, "seconds"),
             "seconds after which an answer that does not come, or too slowly, is a failure",
             kSameResult);
  remote.key("least_rate", &RemoteConfig::least_rate, whole(0u, 1u << 20, "KiB per second"),
             "KiB per second below which a server is too slow", kSameResult);
  remote.key("gap", &RemoteConfig::gap, whole(0u, 1u << 20),
             "KiB between two examples that are fetched rather than asked for separately",
             kSameResult);
}

}  // namespace impart::config
