#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "impart/core/ids.h"
#include "impart/data/payloads/payload_source.h"

namespace impart::data {

struct ReadAheadSpec {
  std::uint64_t bytes = std::uint64_t{64} << 20;  ///< held and on their way, at most
  std::uint32_t threads = 3;                      ///< each of which waits for one group
};

/// Whether a visit's payload has to come from the source at all; asked shortly before it is
/// fetched, by several threads. `again`: an earlier visit of the plan has not been made. Empty:
/// always.
using NeedsSource = std::function<bool(ExampleId id, bool again)>;

/// Reads payloads of a source ahead, in the order in which they will be needed. Neighbours in the
/// plan are read in groups (PayloadSource::read_all), so that the source can serve those that lie
/// side by side by one request. The first groups are small, so that nobody waits long for the first
/// payload; later ones have up to an eighth of the memory.
///
/// Of every planned visit take() may be called once, and end_visit() is called afterwards in any
/// case; until then its payload is held. Thread-safe, but for plan(), which is called while no
/// visit is under way.
class ReadAhead {
 public:
  ReadAhead(std::shared_ptr<const PayloadSource> source, const ReadAheadSpec& spec);
  /// Waits for the groups that are on their way.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// What will be needed, in that order, instead of what was planned before. What is held already
  /// and still needed stays.
  void plan(std::span<const ExampleId> visits, NeedsSource needs = {});
  /// What will be needed afterwards.
  void plan_more(std::span<const ExampleId> visits);

  /// The payload of the next planned visit of the example, waited for if it will come without
  /// anyone doing anything. False if it has to be read from the source: it is not planned, was not
  /// needed, there is no room to fetch it ahead, or its bytes are damaged. `bytes` grows by what
  /// fetching took from the source, for whomever. Throws what fetching threw, unless that is a
  /// DataError.
  bool take(ExampleId id, std::span<std::byte> payload, std::uint64_t& bytes);

  /// The next planned visit of the example is over, whether its payload was taken or not.
  void end_visit(ExampleId id);

  /// Payload bytes held or on their way.
  std::uint64_t held_bytes() const;

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

/// The same payloads, those that are planned read ahead (PayloadSource::read_ahead).
std::shared_ptr<const PayloadSource> with_read_ahead(std::shared_ptr<const PayloadSource> source,
                                                     const ReadAheadSpec& spec);

}  // namespace impart::data
