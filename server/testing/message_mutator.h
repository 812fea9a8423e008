// Requests with something wrong in them: fields with values that nobody would send, and damaged
// bytes.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>

namespace qb::server {

// Not thread-safe; equal seeds give equal messages.
class MessageMutator {
 public:
  explicit MessageMutator(uint64_t seed) : random_(seed) {}

  // Changes one to three fields of `message`, at any depth.
  void MutateFields(google::protobuf::Message& message);
  // Changes one to four places of serialized bytes; mostly no message any more.
  void MutateBytes(std::string& bytes);
  // 0 to below - 1.
  size_t Pick(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }

 private:
  void MutateOnce(google::protobuf::Message& message);
  void MutateRepeated(google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field);
  void AddScalar(google::protobuf::Message& message,
                 const google::protobuf::FieldDescriptor* field);
  void SetScalar(google::protobuf::Message& message,
                 const google::protobuf::FieldDescriptor* field);
  int64_t Number();
  double Fraction();
  std::string Text();

  std::mt19937_64 random_;
};

}  // namespace qb::server
