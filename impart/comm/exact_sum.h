#pragma once

#include <span>

#include "impart/comm/communicator.h"

namespace impart::comm {

/// Sums contributions of all processes to the same bits, however many processes there are and
/// whichever of them passes which contribution: n workers in 1 process and in n processes get the
/// same gradient. Every process passes any number of contributions (one per hosted worker, or
/// none), all as long as `sum`; ConfigError if not, or if there may be more than 2^20. `sum` may be
/// one of the contributions.
///
/// Method. Integers add up to the same sum in any order. For each block of 4096 elements, counted
/// from the start of `sum`, the processes agree on the exponent of the largest magnitude M; each
/// contribution is rounded to a multiple of 2^-42 of the power of two above M, which makes it an
/// integer of at most 42 bits; 2^20 of these add up in 64 bits without overflow; the sum is rounded
/// to float. Blocks are part of the result: the same elements summed in other pieces may differ in
/// the last bit.
///
/// Error. For n contributions |sum - true sum| <= n·M·2^-42, and then comes the rounding to float
/// (by way of double): a contribution whose magnitude is above M·2^-18 enters exactly. A plain
/// float sum has about n·M·2^-24. Only the final sum can overflow to ∞. A zero sum is +0.
///
/// Not-finite contributions. An element with a NaN, or with both infinities, is NaN (always the
/// same one); with one infinity, that infinity. The other elements of the block are not touched by
/// it.
///
/// Cost. 8 bytes per element on the wire instead of 4, and 16 per block; blocks with not-finite
/// elements cost another 8 per element. 2 MiB of memory. bench/comm_bench.cpp has the time.
/// Collective: every process calls it, in the same order.
void exact_all_reduce_sum(Communicator& communicator,
                          std::span<const std::span<const float>> contributions,
                          std::span<float> sum);

}  // namespace impart::comm
