#include "impart/store/memory_store.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"

namespace impart::store {
namespace {

class MemoryStore final : public Store {
 public:
  MemoryStore(const MemoryStoreSpec& spec, std::uint32_t hosted)
      : hosted_(hosted), examples_(spec.examples), loaded_bytes_(spec.loaded_bytes) {}

  void settle(const placement::Partition&) override {}
  void start_moves(const placement::MovePlan&) override {}
  bool advance_moves() override { return true; }

  bool holds(ExampleId id) const override { return index(id) < examples_; }
  void read(ExampleId id, WorkerId, std::vector<std::byte>&) override {
    throw Error(fmt::format("example {} is in memory already, not to be read", index(id)));
  }

  std::vector<StorageCost> take_costs() override {
    std::vector<StorageCost> costs(hosted_);
    costs.front().bytes_source = std::exchange(loaded_bytes_, 0);
    return costs;
  }

 private:
  std::uint32_t hosted_;  ///< workers of this process, at least one
  std::uint64_t examples_, loaded_bytes_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(const MemoryStoreSpec& spec,
                                         comm::Communicator& communicator) {
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.workers, communicator.rank(), communicator.size());
  return std::make_unique<MemoryStore>(spec, hosted.count);
}

}  // namespace impart::store
