#pragma once

#include <cstdint>

namespace impart {

/// What a CPU says of itself, as far as anybody here asks: registers of x86's CPUID, zeros
/// elsewhere.
struct ProcessorFeatures {
  bool has_wide_vectors = false;   ///< AVX-512, and the system saves its registers
  std::uint32_t leaf_7_edx = 0;    ///< of leaf 7, subleaf 0
  std::uint32_t leaf_7_1_eax = 0;  ///< of leaf 7, subleaf 1
};

/// Of the machine that this runs on.
ProcessorFeatures read_processor();

/// Whether products of bfloat16 are instructions there: AVX-512 BF16 or AMX.
bool has_bfloat16_products(const ProcessorFeatures& features);

}  // namespace impart
