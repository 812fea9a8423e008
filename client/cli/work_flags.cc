#include "client/cli/work_flags.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "client/cli/exit_code.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"cache", 0, FlagKind::kValue, "POLICY",
     "use (default): a stored result of the same work answers at once, work under way is joined. "
     "refresh: the work is done again. bypass: it runs alone and its result is not offered to "
     "later jobs."},
    {"cpus", 0, FlagKind::kValue, "N", "CPUs that the worker keeps for the job. Default: a slot."},
    {"memory", 0, FlagKind::kValue, "BYTES",
     "Memory that the worker keeps for the job, and its limit, e.g. 8G. Default: the worker's."},
    {"gpus", 0, FlagKind::kValue, "N", "GPUs for this job alone."},
    {"scratch", 0, FlagKind::kValue, "BYTES",
     "Room for the job's files on the worker, and their limit. Default: the worker's."},
});

constexpr auto kPolicies = std::to_array<std::pair<const char*, qbc::v1::CachePolicy>>({
    {"use", qbc::v1::CACHE_POLICY_USE},
    {"refresh", qbc::v1::CACHE_POLICY_REFRESH},
    {"bypass", qbc::v1::CACHE_POLICY_BYPASS},
});

constexpr auto kUnits =
    std::to_array<std::pair<const char*, int>>({{"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}});

// "4096", "512M", "8G": in powers of 1024.
absl::StatusOr<int64_t> ParseBytes(const std::string& flag, const std::string& text) {
  absl::string_view digits = text;
  int shift = 0;
  for (const auto& [letter, bits] : kUnits) {
    if (absl::ConsumeSuffix(&digits, letter)) {
      shift = bits;
      break;
    }
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value) || value < 1 || value > (int64_t{1} << 50 >> shift)) {
    return UsageError(absl::StrCat(
        "--", flag, ": '", text, "': expected bytes, or a number with K, M, G or T, up to 1024T"));
  }
  return value << shift;
}

absl::Status ApplyResources(const ParsedFlags& flags, qbc::v1::Resources& resources) {
  if (flags.Has("cpus")) {
    QB_ASSIGN_OR_RETURN(const int cpus, flags.GetInt("cpus", 0, 0, 4096));
    resources.set_cpus(cpus);
  }
  if (flags.Has("gpus")) {
    QB_ASSIGN_OR_RETURN(const int gpus, flags.GetInt("gpus", 0, 0, 64));
    resources.set_gpus(gpus);
  }
  if (flags.Has("memory")) {
    QB_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes("memory", flags.Get("memory")));
    resources.set_memory_bytes(bytes);
  }
  if (flags.Has("scratch")) {
    QB_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes("scratch", flags.Get("scratch")));
    resources.set_scratch_bytes(bytes);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const FlagDef> WorkFlags() { return kFlags; }

absl::Status ApplyWorkFlags(const ParsedFlags& flags, qbc::v1::JobSpec& spec) {
  if (flags.Has("cache")) {
    const std::string name = flags.Get("cache");
    bool known = false;
    for (const auto& [policy, value] : kPolicies) {
      if (name == policy) {
        spec.set_cache_policy(value);
        known = true;
      }
    }
    if (!known) {
      return UsageError(absl::StrCat("--cache: '", name, "': expected use, refresh or bypass"));
    }
  }
  for (const char* flag : {"cpus", "memory", "gpus", "scratch"}) {
    if (flags.Has(flag)) {
      return ApplyResources(flags, *spec.mutable_resources());
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::client
