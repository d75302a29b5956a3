#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <torch/types.h>

#include "impart/feed/batch.h"
#include "impart/feed/feed.h"
#include "impart/tensors/torch_stream.h"

namespace impart::feed {

/// The place of every row where batches, which end before these rows, are put into `places` places
/// of `room` rows each, in turn.
std::vector<std::int64_t> take_turns(std::span<const std::int64_t> ends, std::size_t places,
                                     std::int64_t room);

/// Images that come to a GPU batch by batch, as bytes: while one is used the next is copied, by a
/// stream of its own. The host waits for neither, as long as it is no more than a batch ahead.
///
/// Device memory: two of the largest batch so far.
class ImageTurns {
 public:
  /// Images of this shape, [C, H, W]; `mean` and `std` as DeviceImages has them, on the device.
  ImageTurns(std::vector<std::int64_t> shape, torch::Tensor mean, torch::Tensor std);
  /// Waits for copies that are under way.
  ~ImageTurns();
  ImageTurns(const ImageTurns&) = delete;
  ImageTurns& operator=(const ImageTurns&) = delete;

  /// Waits for copies that are under way.
  void wait() const { copies_.wait(); }
  /// Batches that end before these rows will come; no copies are under way. What there is on the
  /// device stays where it is unless a batch is larger than any before.
  void begin(std::span<const std::int64_t> ends, bool has_choices);

  /// One batch: its bytes on the host, page-locked, and on the device what is known of its rows.
  struct Rows {
    torch::Tensor pixels;   ///< uint8 [B, C, H, W]; stays as it is until has_copied()
    torch::Tensor targets;  ///< int64 [B]
    torch::Tensor choices;  ///< int32 [B]; undefined if the plan has none
  };
  /// What is put on the current stream from here on finds the next batch in its place, and not the
  /// one before.
  void bring(const Rows& rows);
  bool has_copied() const;

  /// Where the batches are: what it points to lives as long as this.
  DevicePlan plan() const;
  /// Of the batch that was brought, as make_batch takes them.
  torch::Tensor ids() const;

 private:
  void make_room(std::int64_t rows);

  std::vector<std::int64_t> shape_;
  DeviceImages images_;          ///< of all places
  torch::Tensor choices_, ids_;  ///< of all places; of all rows of the plan
  bool has_choices_ = false;
  std::vector<std::int64_t> ends_;
  std::int64_t room_ = 0;  ///< rows of a place
  std::size_t next_ = 0;   ///< batch
  tensors::CopyStream copies_;
};

}  // namespace impart::feed
