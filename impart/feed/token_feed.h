#pragma once

#include <memory>

#include <torch/types.h>

#include "impart/data/text/token_set.h"
#include "impart/feed/feed.h"
#include "impart/feed/stored_feed.h"

namespace impart::feed {

// Batches of token sequences. Of a set without labels, language: inputs are int64 [B, T], targets
// the tokens that follow, [B, T], kNoTarget behind the end of a short example. Of a set with
// labels: inputs int64 [B, L], L the longest text of the batch, shorter ones filled up with
// padding_of(set); targets [B].

/// The token that stands for none: one more than there are in the vocabulary.
inline std::uint32_t padding_of(const data::TokenSet& set) {
  return set.vocabulary;
}

/// All tokens are on the device: no host work per example.
std::unique_ptr<Feed> make_token_feed(const data::TokenSet& set, torch::Device device);

/// The batch of these blocks, int64 [B], as such a feed makes it, for work that is recorded:
/// nothing waits for the device, and nothing is read on the host.
Batch make_block_batch(const DeviceBlocks& blocks, const torch::Tensor& ids);

/// For feeds that read tokens from a store. Rows are as token_row_bytes and
/// data::make_token_decoder say.
std::unique_ptr<BatchFormat> make_token_format(const data::TokenSet& set, torch::Device device);

/// Bytes of a decoded example: two for each of the longest one's tokens.
std::uint64_t token_row_bytes(const data::TokenSet& set);

}  // namespace impart::feed
