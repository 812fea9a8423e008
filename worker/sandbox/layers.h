// The layers of the sandbox around a compile process: what each takes away.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace qb::sandbox {

enum class Layer : uint32_t {
  kUser = 1 << 0,
  kPid = 1 << 1,
  kMount = 1 << 2,
  kNet = 1 << 3,
  kIpc = 1 << 4,
  kUts = 1 << 5,
  kCapabilities = 1 << 6,
  kNoNewPrivs = 1 << 7,
  kLandlock = 1 << 8,
  kSeccomp = 1 << 9,
  kRlimits = 1 << 10,
};

struct LayerRow {
  Layer layer;
  std::string_view name;
  std::string_view takes_away;
};

// In the order in which a process passes through them.
inline constexpr std::array<LayerRow, 11> kLayers = {{
    {Layer::kUser, "user", "privileges outside: a user namespace of its own"},
    {Layer::kPid, "pid", "other processes; all of its own end with it"},
    {Layer::kMount, "mount", "files: an empty root with the compiler and the job's folder"},
    {Layer::kNet, "net", "the network: not even a loopback interface that is up"},
    {Layer::kIpc, "ipc", "System V and POSIX queues of others"},
    {Layer::kUts, "uts", "the name of the machine"},
    {Layer::kCapabilities, "capabilities", "every capability"},
    {Layer::kNoNewPrivs, "no_new_privs", "set-user-id programs"},
    {Layer::kLandlock, "landlock", "execution of what it wrote, and files once more"},
    {Layer::kSeccomp, "seccomp", "system calls that a compiler does not need"},
    {Layer::kRlimits, "rlimits", "endless files, descriptors, processes, core dumps"},
}};

// A set of layers; a value type.
class LayerSet {
 public:
  constexpr bool Has(Layer layer) const { return (bits_ & static_cast<uint32_t>(layer)) != 0; }
  constexpr void Add(Layer layer) { bits_ |= static_cast<uint32_t>(layer); }
  constexpr void Remove(Layer layer) { bits_ &= ~static_cast<uint32_t>(layer); }
  constexpr bool operator==(const LayerSet&) const = default;
  constexpr bool empty() const { return bits_ == 0; }

  static constexpr LayerSet All() {
    LayerSet set;
    for (const LayerRow& row : kLayers) {
      set.Add(row.layer);
    }
    return set;
  }

  // "user,pid": in the order of kLayers; "" for none.
  std::string Names() const {
    std::string names;
    for (const LayerRow& row : kLayers) {
      if (Has(row.layer)) {
        names.append(names.empty() ? "" : ",").append(row.name);
      }
    }
    return names;
  }

  // False when a name is unknown.
  static bool Parse(std::string_view names, LayerSet& set) {
    set = LayerSet();
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(','));
      names.remove_prefix(name.size() < names.size() ? name.size() + 1 : names.size());
      bool known = false;
      for (const LayerRow& row : kLayers) {
        if (row.name == name) {
          set.Add(row.layer);
          known = true;
        }
      }
      if (!known) {
        return false;
      }
    }
    return true;
  }

 private:
  uint32_t bits_ = 0;
};

}  // namespace qb::sandbox
