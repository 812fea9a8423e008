// Typed attributes of an operator, and the one list of fields that printing, parsing, comparing,
// cloning and serializing share.
//
//   struct SliceAttrs final : AttributesOf<SliceAttrs> {
//     std::vector<int64_t> axis, start, end, step;
//     template <typename Self, typename Visitor>
//     static void VisitFields(Self& self, Visitor&& visit) {
//       visit("axis", self.axis);
//       ...
//     }
//   };
//
// Field types: bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, and enums
// that have an EnumNames specialization (written as their names).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace qb {

using AttrValue =
    std::variant<bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;

struct NamedAttr {
  std::string name;
  AttrValue value;
  bool operator==(const NamedAttr& other) const = default;
};

// Specialize for an enum E: `static constexpr auto kNames = std::to_array<std::pair<E, const
// char*>>({...});`
template <typename E>
struct EnumNames;

template <typename E>
absl::string_view NameOfEnum(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::kNames) {
    if (candidate == value) {
      return name;
    }
  }
  return "?";
}

class Attributes {
 public:
  virtual ~Attributes() = default;
  virtual std::unique_ptr<Attributes> Clone() const = 0;
  // All fields in declaration order.
  virtual std::vector<NamedAttr> Fields() const = 0;
  // Errors: InvalidArgument for an unknown name, a wrong type or an unknown enumerator.
  virtual absl::Status Set(absl::string_view name, const AttrValue& value) = 0;
};

namespace internal {

template <typename T>
AttrValue ToAttrValue(const T& field) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(NameOfEnum(field));
  } else {
    return field;
  }
}

template <typename T>
absl::Status AssignField(absl::string_view name, const AttrValue& value, T& field) {
  if constexpr (std::is_enum_v<T>) {
    const std::string* text = std::get_if<std::string>(&value);
    if (text != nullptr) {
      for (const auto& [candidate, enumerator] : EnumNames<T>::kNames) {
        if (*text == enumerator) {
          field = candidate;
          return absl::OkStatus();
        }
      }
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", name, "' has no value '", *text, "'"));
    }
  } else if (const T* typed = std::get_if<T>(&value); typed != nullptr) {
    field = *typed;
    return absl::OkStatus();
  } else if constexpr (std::is_same_v<T, float>) {
    if (const int64_t* integer = std::get_if<int64_t>(&value); integer != nullptr) {
      field = static_cast<float>(*integer);
      return absl::OkStatus();
    }
  } else if constexpr (std::is_same_v<T, std::vector<float>>) {
    // An empty list has no element type in the text form.
    const auto* integers = std::get_if<std::vector<int64_t>>(&value);
    if (integers != nullptr) {
      field.assign(integers->begin(), integers->end());
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has another type"));
}

}  // namespace internal

// Implements Attributes from Derived::VisitFields.
template <typename Derived>
class AttributesOf : public Attributes {
 public:
  std::unique_ptr<Attributes> Clone() const final {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
  std::vector<NamedAttr> Fields() const final {
    std::vector<NamedAttr> fields;
    Derived::VisitFields(static_cast<const Derived&>(*this), [&](const char* name, auto& field) {
      fields.push_back({name, internal::ToAttrValue(field)});
    });
    return fields;
  }
  absl::Status Set(absl::string_view name, const AttrValue& value) final {
    absl::Status status =
        absl::InvalidArgumentError(absl::StrCat("there is no attribute '", name, "'"));
    Derived::VisitFields(static_cast<Derived&>(*this), [&](const char* field_name, auto& field) {
      if (name == field_name) {
        status = internal::AssignField(name, value, field);
      }
    });
    return status;
  }
};

// Of operators without attributes.
struct NoAttrs final : AttributesOf<NoAttrs> {
  template <typename Self, typename Visitor>
  static void VisitFields(Self&, Visitor&&) {}
};

}  // namespace qb
