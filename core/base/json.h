// A JSON value with ordered objects, a strict parser and a deterministic writer.
//
// nlohmann/json does the parsing and is included in json.cc alone: its header costs seconds in
// every file that sees it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// A value type. Objects keep insertion order, so equal programs write equal bytes.
class Json {
 public:
  enum class Type { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  Json() = default;                                  // null
  Json(bool value) : type_(Type::kBool), int_(value) {}  // NOLINT(google-explicit-constructor)
  Json(int value) : type_(Type::kInt), int_(value) {}    // NOLINT(google-explicit-constructor)
  Json(int64_t value) : type_(Type::kInt), int_(value) {}  // NOLINT(google-explicit-constructor)
  Json(double value) : type_(Type::kDouble), double_(value) {}  // NOLINT(google-explicit-constructor)
  Json(std::string value)  // NOLINT(google-explicit-constructor)
      : type_(Type::kString), string_(std::move(value)) {}
  Json(absl::string_view value) : Json(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* value) : Json(std::string(value)) {}        // NOLINT(google-explicit-constructor)
  static Json Array();
  static Json Object();

  // Errors: InvalidArgument with line and column for malformed text, duplicate keys, invalid UTF-8,
  // nesting deeper than `max_depth`. Integers outside int64 become doubles.
  static absl::StatusOr<Json> Parse(absl::string_view text, int max_depth = 200);

  Type type() const { return type_; }
  bool is_null() const { return type_ == Type::kNull; }
  bool is_bool() const { return type_ == Type::kBool; }
  bool is_int() const { return type_ == Type::kInt; }
  bool is_number() const { return type_ == Type::kInt || type_ == Type::kDouble; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_object() const { return type_ == Type::kObject; }

  // Accessors give a neutral value (false, 0, "", empty) when the type is another one: callers that
  // care ask first.
  bool as_bool() const { return is_bool() && int_ != 0; }
  int64_t as_int() const { return is_int() ? int_ : 0; }
  double as_double() const { return is_int() ? static_cast<double>(int_) : double_; }
  const std::string& as_string() const { return string_; }
  const std::vector<Json>& items() const { return items_; }
  const std::vector<Member>& members() const { return members_; }

  // The member, or null (a static null value) when there is none.
  const Json& operator[](absl::string_view key) const;
  bool contains(absl::string_view key) const;

  // Sets or replaces a member (turns null into an object). Returns *this for chaining.
  Json& Set(absl::string_view key, Json value);
  // Like Set for a key that is known to be new; does not search for it.
  Json& SetNew(absl::string_view key, Json value);
  // Appends to an array (turns null into an array).
  Json& Append(Json value);

  // `indent` 0 gives one line. Doubles are written in the shortest form that reads back equal;
  // NaN and infinities as null. Invalid UTF-8 bytes are replaced.
  std::string Dump(int indent = 0) const;

 private:
  void DumpTo(std::string& out, int indent, int depth) const;

  Type type_ = Type::kNull;
  int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  std::vector<Json> items_;
  std::vector<Member> members_;
};

}  // namespace qb
