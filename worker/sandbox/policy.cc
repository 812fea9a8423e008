#include "worker/sandbox/policy.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace qb::sandbox {
namespace {

struct TextFlag {
  std::string_view name;
  std::string Policy::*field;
};
struct ListFlag {
  std::string_view name;
  std::vector<std::string> Policy::*field;
};
struct NumberFlag {
  std::string_view name;
  uint64_t Policy::*field;
};

constexpr std::array<TextFlag, 3> kTexts = {{
    {"--root", &Policy::root},
    {"--working-dir", &Policy::working_dir},
    {"--temporary", &Policy::temporary},
}};
constexpr std::array<ListFlag, 5> kLists = {{
    {"--program", &Policy::programs},
    {"--read-only", &Policy::read_only},
    {"--writable", &Policy::writable},
    {"--device", &Policy::devices},
    {"--group", &Policy::groups},
}};
constexpr std::array<NumberFlag, 5> kNumbers = {{
    {"--max-file-bytes", &Policy::max_file_bytes},
    {"--max-address-bytes", &Policy::max_address_bytes},
    {"--max-cpu-seconds", &Policy::max_cpu_seconds},
    {"--max-processes", &Policy::max_processes},
    {"--max-open-files", &Policy::max_open_files},
}};

// True when the flag is known and its value good.
bool Set(const std::string& flag, const std::string& value, Policy& policy) {
  for (const TextFlag& row : kTexts) {
    if (row.name == flag) {
      policy.*row.field = value;
      return value.starts_with('/');
    }
  }
  for (const ListFlag& row : kLists) {
    if (row.name == flag) {
      (policy.*row.field).push_back(value);
      return value.starts_with('/');
    }
  }
  for (const NumberFlag& row : kNumbers) {
    if (row.name == flag) {
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, policy.*row.field);
      return error == std::errc() && stop == end;
    }
  }
  return flag == "--layers" && LayerSet::Parse(value, policy.layers);
}

}  // namespace

std::vector<std::string> ToArguments(const Policy& policy) {
  std::vector<std::string> arguments = {"--layers", policy.layers.Names()};
  for (const TextFlag& row : kTexts) {
    if (!(policy.*row.field).empty()) {
      arguments.insert(arguments.end(), {std::string(row.name), policy.*row.field});
    }
  }
  for (const ListFlag& row : kLists) {
    for (const std::string& value : policy.*row.field) {
      arguments.insert(arguments.end(), {std::string(row.name), value});
    }
  }
  for (const NumberFlag& row : kNumbers) {
    arguments.insert(arguments.end(), {std::string(row.name), std::to_string(policy.*row.field)});
  }
  arguments.emplace_back("--");
  return arguments;
}

std::string FromArguments(const std::vector<std::string>& arguments, Policy& policy,
                          std::vector<std::string>& program) {
  size_t i = 0;
  for (; i + 1 < arguments.size() && arguments[i] != "--"; i += 2) {
    if (!Set(arguments[i], arguments[i + 1], policy)) {
      return arguments[i] + " '" + arguments[i + 1] + "': not accepted";
    }
  }
  if (i + 1 >= arguments.size() || arguments[i] != "--") {
    return "expected -- and a program";
  }
  program.assign(arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
  if (policy.layers.Has(Layer::kMount) && policy.root.empty()) {
    return "--root: needed for the layer mount";
  }
  return "";
}

}  // namespace qb::sandbox
