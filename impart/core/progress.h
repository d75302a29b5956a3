#pragma once

#include <cstdint>
#include <functional>

namespace impart {

/// Told now and then how far a long piece of work has come. Called from the thread that works;
/// must not throw. An empty one is never called.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace impart
