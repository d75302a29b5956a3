# What the decision core needs at run time: fmt and xxHash from the system, or with IMPART_PORTABLE
# compiled in, so that what is built runs on machines that have neither.
if(IMPART_PORTABLE)
  set(IMPART_FMT fmt::fmt-header-only)
  add_library(impart_xxhash INTERFACE)
  find_path(XXHash_INCLUDE_DIR xxhash.h REQUIRED)
  target_include_directories(impart_xxhash INTERFACE ${XXHash_INCLUDE_DIR})
  target_compile_definitions(impart_xxhash INTERFACE XXH_INLINE_ALL)
  set(IMPART_XXHASH impart_xxhash)
else()
  find_package(XXHash REQUIRED)
  set(IMPART_FMT fmt::fmt)
  set(IMPART_XXHASH xxHash::xxhash)
endif()
