// The one question that every access asks: may this caller do this to that?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb::server {

// What a credential allows. Frozen: the names of AllScopes() stand in token files.
enum class Scope : uint32_t {
  kJobsRead = 1 << 0,
  kJobsWrite = 1 << 1,
  kBlobsRead = 1 << 2,
  kBlobsWrite = 1 << 3,
  kShare = 1 << 4,
  kAdmin = 1 << 5,  // sees the workers
  kWork = 1 << 6,   // leases jobs of every tenant; of worker agents alone
};

// A set of scopes; a value type.
class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  constexpr ScopeSet(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) {
      bits_ |= static_cast<uint32_t>(scope);
    }
  }
  constexpr bool Has(Scope scope) const { return (bits_ & static_cast<uint32_t>(scope)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  void Add(Scope scope) { bits_ |= static_cast<uint32_t>(scope); }
  constexpr bool operator==(const ScopeSet&) const = default;

  // In the order of the enum: {"jobs:read", "jobs:write"}.
  std::vector<std::string> Names() const;
  // Errors: InvalidArgument that names the unknown scope and those that exist.
  static absl::StatusOr<ScopeSet> Parse(const std::vector<std::string>& names);

 private:
  uint32_t bits_ = 0;
};

inline constexpr ScopeSet kEverything = {Scope::kJobsRead,   Scope::kJobsWrite, Scope::kBlobsRead,
                                         Scope::kBlobsWrite, Scope::kShare,     Scope::kAdmin,
                                         Scope::kWork};

// Who calls. The default is everybody who can reach a server that asks for no credentials: its one
// tenant, with every right.
struct Caller {
  std::string tenant = "default";
  ScopeSet scopes = kEverything;
  std::string credential;  // id of the token or certificate; "": none was asked for
};

// The tenant of worker agents. No tenant can have this name: it owns nothing.
inline constexpr char kWorkerTenant[] = "(worker)";

enum class ResourceKind { kJob, kBlob, kWorkerWork, kServer, kWorkers };
enum class Verb { kRead, kCreate, kCancel, kShare, kReport };

struct Resource {
  ResourceKind kind;
  std::string tenant;  // that owns it
};

// OK, or PermissionDenied with what was refused. A caller reaches what its own tenant owns, as far
// as the scopes of its credential go.
absl::Status Authorize(const Caller& caller, const Resource& resource, Verb verb);

}  // namespace qb::server
