#include "impart/store/settlement.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "impart/data/payloads/read_ahead.h"
#include "impart/store/payload_hash.h"

namespace impart::store {
namespace {

/// Examples whose holders are agreed on in one all-reduce: bounds its memory to 8 MiB.
constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;

template <class Function>
void for_each_worker(const placement::HostedWorkers& hosted, Function&& function) {
  for (std::uint32_t w = hosted.first; w < hosted.first + hosted.count; ++w) function(WorkerId{w});
}

}  // namespace

void make_holdings_last(HeldParts& parts) {
  for_each_worker(parts.hosted(), [&](WorkerId worker) { parts.shelf(worker).sync(); });
}

/// The largest claim wins: worker + 1, and more than all of those for the owner itself.
Holdings agree_on_holdings(HeldParts& parts, const placement::Partition& partition,
                           comm::Communicator& communicator) {
  const std::uint64_t examples = partition.examples();
  const std::uint32_t owners_claim = partition.workers() + 1;
  std::vector<std::uint32_t> claims(examples);
  for_each_worker(parts.hosted(), [&](WorkerId worker) {
    for (const ExampleId id : parts.shelf(worker).held()) {
      const bool owns = partition.owner(id) == worker;
      claims[index(id)] = std::max(claims[index(id)], owns ? owners_claim : index(worker) + 1);
    }
  });
  std::vector<std::int64_t> agreed;
  for (std::uint64_t first = 0; first < examples; first += kAtOnce) {
    const auto some = std::span(claims).subspan(first, std::min(kAtOnce, examples - first));
    agreed.assign(some.begin(), some.end());
    communicator.all_reduce_max(agreed);
    std::transform(agreed.begin(), agreed.end(), some.begin(),
                   [](std::int64_t claim) { return static_cast<std::uint32_t>(claim); });
  }
  for (std::uint64_t i = 0; i < examples; ++i) {
    if (claims[i] == owners_claim) claims[i] = index(partition.owner(ExampleId{i})) + 1;
  }
  return Holdings(std::move(claims));
}

void forget_duplicates(HeldParts& parts, const Holdings& holdings) {
  for_each_worker(parts.hosted(), [&](WorkerId worker) {
    for (const ExampleId id : parts.shelf(worker).held()) {
      if (holdings.holder(id) != worker) parts.forget(id, worker);
    }
    parts.shelf(worker).flush();
  });
  parts.locate();
}

void read_missing(HeldParts& parts, const Holdings& holdings, const placement::Partition& partition,
                  const data::PayloadSource& source) {
  std::vector<std::byte> payload;
  for_each_worker(parts.hosted(),
                  [&](WorkerId worker) { parts.allow(worker, partition.examples()); });
  std::vector<ExampleId> missing;
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    const ExampleId id{i};
    if (parts.hosted().contains(partition.owner(id)) && !holdings.holder(id)) missing.push_back(id);
  }
  data::ReadAhead* const ahead = source.read_ahead();
  if (ahead != nullptr) ahead->plan(missing);
  for (const ExampleId id : missing) {
    const WorkerId owner = partition.owner(id);
    payload.resize(source.payload_bytes(id));
    parts.cost(owner).bytes_source += source.read(id, payload);
    if (ahead != nullptr) ahead->end_visit(id);
    parts.put(id, owner, payload, payload_hash(payload));
    parts.tell("read from source");
  }
  make_holdings_last(parts);
}

placement::MovePlan moves_to(const Holdings& holdings, const placement::Partition& partition) {
  placement::MovePlan plan;
  for (std::uint64_t i = 0; i < partition.examples(); ++i) {
    const ExampleId id{i};
    const auto holder = holdings.holder(id);
    const WorkerId owner = partition.owner(id);
    if (holder && *holder != owner) plan.moves.push_back({id, *holder, owner});
  }
  std::stable_sort(
      plan.moves.begin(), plan.moves.end(), [](const placement::Move& a, const placement::Move& b) {
        return std::pair(index(a.from), index(a.to)) < std::pair(index(b.from), index(b.to));
      });
  return plan;
}

}  // namespace impart::store
