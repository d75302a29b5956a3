#pragma once

#include <functional>

#include "impart/core/progress.h"
#include "impart/data/mds/index.h"
#include "impart/data/payloads/payload_source.h"

namespace impart::data {

/// Told every sample in order; the bytes are valid during the call.
using MdsVisitor = std::function<void(ExampleId id, std::span<const std::byte> sample)>;

/// The samples of MDS shards as payloads: the whole sample as it is stored, so that the label and
/// all other columns travel with the image.
class MdsSamples : public PayloadSource {
 public:
  virtual const MdsIndex& index() const = 0;

  /// Reads all samples from the first to the last, shard by shard. Returns the bytes that came from
  /// disk or the server. DataError as read().
  virtual std::uint64_t read_in_order(const MdsVisitor& visit,
                                      const Progress& progress = {}) const = 0;
};

}  // namespace impart::data
