#pragma once

/// Compiles a function several times, for the vector units that processors have; the first call
/// picks the widest that this one has. (Not under sanitizers: they cannot run that early.) For
/// functions of plain loops, in files without torch. Helpers that such a function calls must be
/// inlined into it (IMPART_INLINE) to gain from it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define IMPART_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define IMPART_VECTOR_CLONES
#endif

#ifdef __CUDACC__
#define IMPART_INLINE __host__ __device__ __attribute__((always_inline)) inline
#else
#define IMPART_INLINE __attribute__((always_inline)) inline
#endif
