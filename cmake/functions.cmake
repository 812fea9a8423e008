include(CMakeParseArguments)

# qb_library(name SRCS .. DEPS .. PRIVATE_DEPS ..)
#   DEPS         what the headers of this library include (PUBLIC)
#   PRIVATE_DEPS what only its sources include
# The link list is the layering: tests/layering checks that the #include lines agree with it.
function(qb_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    target_compile_options(${name} PRIVATE ${QB_WARNINGS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# qb_binary(name SRCS .. DEPS ..): an executable in build/<preset>/bin.
function(qb_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  if(QB_SANITIZE STREQUAL "thread")
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan_absl.cc)
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/gen)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${QB_WARNINGS})
endfunction()

# qb_link_archives(name LIBRARY ..): links the program with the archives of these libraries, so that it starts
# faster; see link_archives.py. Sanitizers need the shared ones.
function(qb_link_archives name)
  if(NOT QB_SANITIZE AND NOT QB_FUZZ AND CMAKE_BUILD_TYPE STREQUAL "Release")
    list(JOIN ARGN "," libraries)
    set_target_properties(${name} PROPERTIES
      CXX_LINKER_LAUNCHER "/usr/bin/python3;${CMAKE_SOURCE_DIR}/cmake/link_archives.py;${libraries}"
      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/link_archives.py)
    target_link_options(${name} PRIVATE -Wl,-O1 -Wl,--as-needed)
  endif()
endfunction()

# qb_test(name LABEL unit|golden|integration|e2e|slow SRCS .. DEPS ..): one test binary a folder.
# The binary's cases run with the source root as working directory, so testdata paths are relative to it.
function(qb_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SRCS;DEPS" ${ARGN})
  qb_binary(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} qb_test_main GTest::gmock)
  target_precompile_headers(${name} REUSE_FROM qb_test_main)
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "QB_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# qb_fuzzer(name SRCS .. DEPS ..): a libFuzzer binary, only with the fuzz preset.
function(qb_fuzzer name)
  if(NOT QB_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  qb_binary(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# qb_proto(name PROTOS .. [GRPC]): compiles .proto files (paths relative to the source root) once.
# The target qb_generated only writes the sources: that is all that clang-tidy needs.
add_custom_target(qb_generated)
function(qb_proto name)
  cmake_parse_arguments(ARG "GRPC" "" "PROTOS" ${ARGN})
  set(gen ${CMAKE_BINARY_DIR}/gen)
  file(MAKE_DIRECTORY ${gen})
  set(root ${CMAKE_SOURCE_DIR})
  set(sources)
  foreach(proto ${ARG_PROTOS})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(out ${gen}/${stem}.pb.cc ${gen}/${stem}.pb.h)
    set(flags --cpp_out=${gen})
    if(ARG_GRPC)
      list(APPEND out ${gen}/${stem}.grpc.pb.cc ${gen}/${stem}.grpc.pb.h)
      list(APPEND flags --grpc_out=${gen} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
    endif()
    add_custom_command(OUTPUT ${out}
      COMMAND protobuf::protoc -I ${root} ${flags} ${root}/${proto}
      DEPENDS ${root}/${proto} VERBATIM)
    list(APPEND sources ${out})
  endforeach()
  add_custom_target(${name}_sources DEPENDS ${sources})
  add_dependencies(qb_generated ${name}_sources)
  add_library(${name} STATIC ${sources})
  add_dependencies(${name} ${name}_sources)
  target_include_directories(${name} SYSTEM PUBLIC ${gen})
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  if(ARG_GRPC)
    target_link_libraries(${name} PUBLIC gRPC::grpc++)
  endif()
endfunction()
