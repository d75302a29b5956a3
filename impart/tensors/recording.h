#pragma once

#include <mutex>

namespace impart::tensors {

/// Held by a thread that records work for a GPU, or gives memory of one back: torch cannot do both
/// at once, not even for runs that have nothing to do with each other.
inline std::mutex& recording_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace impart::tensors
