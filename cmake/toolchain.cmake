# Compiler flags that hold for every target of the project.
find_program(QB_CCACHE ccache)
if(QB_CCACHE)
  # base_dir and no hash_dir: build folders of one checkout share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${QB_CCACHE})
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2")            # asserts stay on: QB_CHECK and assert are cheap here
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
if(QB_SANITIZE)
  add_compile_options(-fsanitize=${QB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${QB_SANITIZE})
endif()
if(QB_SANITIZE STREQUAL "thread")
  # ThreadSanitizer learns of Abseil's locks through tests/sanitizers/tsan_absl.cc, linked into every
  # executable: our calls of the functions named there go through it.
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan_absl.cc QB_ABSL_LINES REGEX "_ZN?K?4absl")
  string(REGEX MATCHALL "_ZN?K?4absl7debian3[A-Za-z0-9_]+" QB_ABSL_SYMBOLS "${QB_ABSL_LINES}")
  list(REMOVE_DUPLICATES QB_ABSL_SYMBOLS)
  foreach(symbol ${QB_ABSL_SYMBOLS})
    add_link_options(LINKER:--wrap=${symbol})
  endforeach()
endif()
if(QB_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Warnings are errors for our own targets only; qb_library and qb_test add them.
set(QB_WARNINGS -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND QB_WARNINGS -Wthread-safety -Wno-unused-command-line-argument -Wno-deprecated-declarations
       -Wno-unused-lambda-capture)
else()
  list(APPEND QB_WARNINGS -Wno-maybe-uninitialized -Wno-restrict)  # false reports of g++ 12 in std::optional, absl and std::string
endif()
