#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "impart/comm/communicator.h"
#include "impart/placement/move_plan.h"
#include "impart/store/flow_ends.h"

namespace impart::store {

/// The flows between two processes, one after the other, in one direction.
class Lane {
 public:
  virtual ~Lane() = default;
  /// Moves on what can move without waiting for others; true when all is sent, stored and
  /// acknowledged. PeerError if another process is gone.
  virtual bool advance() = 0;
};

/// Tags of the two kinds of messages of a lane.
inline constexpr std::uint32_t kPieceTag = 1, kAcknowledgementTag = 2;

inline constexpr std::size_t kLanesAtOnce = 8;

struct LaneSpec {
  std::uint32_t workers = 1;
  std::uint32_t window = 4;            ///< pieces of a lane that are under way at a time
  std::size_t at_once = kLanesAtOnce;  ///< lanes that run at a time in each direction
};

/// One exchange as far as it concerns this process: a lane to and from every process that it sends
/// to or receives from, and one within it.
///
/// Lanes start by distance: process p first sends to p+1, p+2, … and receives from p-1, p-2, …, so
/// that nobody is everybody's first. At most LaneSpec::at_once run at a time in each direction,
/// which bounds the memory by 2 · at_once · window · piece_bytes. They cannot block each other for
/// ever: of all lanes that are not done, the one of the smallest distance runs at both its ends.
class LaneRun {
 public:
  /// All must outlive it.
  LaneRun(const placement::MovePlan& plan, const FlowSetup& setup, const LaneSpec& spec,
          comm::Communicator& communicator);

  /// As Lane::advance().
  bool advance();

 private:
  using Lanes = std::deque<std::unique_ptr<Lane>>;
  std::size_t at_once_;
  Lanes within_, outgoing_, incoming_;
};

}  // namespace impart::store
