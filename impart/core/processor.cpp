#include "impart/core/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace impart {

ProcessorFeatures read_processor() {
  ProcessorFeatures features;
#if defined(__x86_64__)
  features.has_wide_vectors = __builtin_cpu_supports("avx512bw") != 0;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return features;
  features.leaf_7_edx = edx;
  // Subleaf 0 says in eax which subleaf is the last.
  if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) features.leaf_7_1_eax = eax;
#endif
  return features;
}

bool has_bfloat16_products(const ProcessorFeatures& features) {
  constexpr std::uint32_t kAmxBf16 = 1u << 22, kAvx512Bf16 = 1u << 5;
  return features.has_wide_vectors &&
         ((features.leaf_7_edx & kAmxBf16) != 0 || (features.leaf_7_1_eax & kAvx512Bf16) != 0);
}

}  // namespace impart
