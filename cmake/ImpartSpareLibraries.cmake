# impart_spare_libraries(LIBRARY): empty stand-ins for what LIBRARY names as needed and uses nothing of.
# IMPART_SPARES is the folder where they are, or empty if there are none.
#
# Debian's libtorch_cpu.so names OpenCV and FFmpeg, and no symbol of theirs. Through them a program loads 288
# libraries (Qt, GDAL, databases) instead of 62, which takes a third of what LibTorch needs to start. A program
# whose DT_RPATH names the folder finds the stand-ins first; without the folder it finds what it always found.
include_guard(GLOBAL)

# What may be left out if it is not used: these bring the others.
set(IMPART_SPARE_NAMES "^lib(opencv_[a-z0-9]+|avcodec|avformat|avutil|swscale|swresample|zmq)\\.so\\.")

# The names of needed libraries of which nothing is used, as the loader sees it.
function(impart_unused_needs library result)
  set(unused)
  find_program(IMPART_LDD ldd)
  if(IMPART_LDD)
    execute_process(COMMAND ${IMPART_LDD} -u ${library} OUTPUT_VARIABLE shown ERROR_QUIET)
    string(REGEX MATCHALL "[^/ \t\n]+\\.so[.0-9a-z]*" shown "${shown}")
    foreach(name IN LISTS shown)
      if(name MATCHES "${IMPART_SPARE_NAMES}")
        list(APPEND unused ${name})
      endif()
    endforeach()
  endif()
  set(${result} ${unused} PARENT_SCOPE)
endfunction()

# Whether a program starts with the stand-ins, all symbols of all libraries looked up, without a word.
function(impart_starts_with_spares folder library result)
  set(program ${folder}/../spare_trial)
  file(WRITE ${program}.cpp "int main() { return 0; }\n")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${program}.cpp -o ${program} -Wl,--no-as-needed ${library}
      -Wl,--disable-new-dtags -Wl,-rpath,${folder}
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_BIND_NOW=1 ${program}
      RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  file(REMOVE ${program} ${program}.cpp)
  if(failed OR said)
    set(${result} OFF PARENT_SCOPE)
  else()
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

function(impart_make_spares folder library)
  impart_unused_needs(${library} names)
  if(NOT names)
    return()
  endif()
  file(MAKE_DIRECTORY ${folder})
  file(WRITE ${folder}/../spare.cpp "")
  foreach(name IN LISTS names)
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -shared -nostdlib -Wl,-soname,${name} -o ${folder}/${name}
        ${folder}/../spare.cpp
      OUTPUT_QUIET ERROR_QUIET)
  endforeach()
  file(REMOVE ${folder}/../spare.cpp)
  impart_starts_with_spares(${folder} ${library} starts)
  if(NOT starts)
    file(REMOVE_RECURSE ${folder})
  endif()
endfunction()

function(impart_spare_libraries library)
  set(folder ${PROJECT_BINARY_DIR}/spare/lib)
  if(NOT IMPART_SPARES_OF STREQUAL library)
    file(REMOVE_RECURSE ${folder})
    if(library)
      impart_make_spares(${folder} ${library})
    endif()
    set(IMPART_SPARES_OF "${library}" CACHE INTERNAL "the library whose stand-ins were looked for")
  endif()
  set(found)
  if(IS_DIRECTORY ${folder})
    set(found ${folder})
  endif()
  set(IMPART_SPARES "${found}" CACHE INTERNAL "where stand-ins are; empty if there are none")
endfunction()
