# Every package we link, from Debian. docs/dependencies.md says why each one is here.
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(Protobuf REQUIRED)          # the FindProtobuf module; Debian ships no config file
find_package(ONNX REQUIRED CONFIG)       # after Protobuf: onnx_proto links protobuf::libprotobuf
find_package(nlohmann_json REQUIRED CONFIG)
find_package(yaml-cpp REQUIRED CONFIG)
find_package(OpenSSL REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_library(QB_WEBP webp REQUIRED)      # Debian ships no CMake file for it
find_package(GTest REQUIRED CONFIG)
find_package(benchmark CONFIG)
if(QB_SERVICE)
  find_package(gRPC REQUIRED CONFIG)
  find_package(SQLite3 REQUIRED)
  find_package(prometheus-cpp REQUIRED CONFIG)
endif()
# oneDNN: Debian's dnnl-config.cmake asks for OpenCL, so the library is linked by name.
find_library(QB_DNNL dnnl REQUIRED)
