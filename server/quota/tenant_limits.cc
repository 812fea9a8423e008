#include "server/quota/tenant_limits.h"

#include <sys/stat.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/atomic_file.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr double kMostPerSecond = 1e9;
constexpr int64_t kMostBytes = int64_t{4} << 20;

struct CountField {
  absl::string_view name;
  int64_t TenantLimits::*field;
};

// submits_per_second is the one that may be a fraction.
constexpr absl::string_view kSubmitRate = "submits_per_second";
constexpr auto kCounts = std::to_array<CountField>({
    {"max_queued_jobs", &TenantLimits::max_queued_jobs},
    {"max_running_jobs", &TenantLimits::max_running_jobs},
    {"max_stored_bytes", &TenantLimits::max_stored_bytes},
    {"max_parallel_uploads", &TenantLimits::max_parallel_uploads},
    {"max_open_streams", &TenantLimits::max_open_streams},
    {"submit_burst", &TenantLimits::submit_burst},
    {"upload_bytes_per_second", &TenantLimits::upload_bytes_per_second},
    {"upload_burst_bytes", &TenantLimits::upload_burst_bytes},
});

std::string Names() {
  return absl::StrCat(kSubmitRate, ", ",
                      absl::StrJoin(kCounts, ", ", [](std::string* out, const CountField& field) {
                        absl::StrAppend(out, field.name);
                      }));
}

absl::Status SetField(absl::string_view where, const Json::Member& member, TenantLimits& limits) {
  const auto& [name, value] = member;
  if (name == kSubmitRate) {
    if (!value.is_number() || value.as_double() < 0 || value.as_double() > kMostPerSecond) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ".", name, ": expected a number from 0, which is no limit"));
    }
    limits.submits_per_second = value.as_double();
    return absl::OkStatus();
  }
  for (const CountField& field : kCounts) {
    if (field.name == name) {
      if (!value.is_int() || value.as_int() < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, ".", name, ": expected a whole number from 0, which is no limit"));
      }
      limits.*field.field = value.as_int();
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(where, ".", name, ": there is no such limit; expected some of ", Names()));
}

absl::Status ReadLimits(absl::string_view where, const Json& json, TenantLimits& limits) {
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": expected an object with some of ", Names()));
  }
  for (const Json::Member& member : json.members()) {
    QB_RETURN_IF_ERROR(SetField(where, member, limits));
  }
  return absl::OkStatus();
}

}  // namespace

TenantLimits SharedServerLimits() {
  TenantLimits limits;
  limits.max_stored_bytes = int64_t{100} << 30;
  limits.max_parallel_uploads = 8;
  limits.max_open_streams = 200;
  limits.submits_per_second = 50;
  limits.submit_burst = 500;
  return limits;
}

absl::StatusOr<LimitTable> ParseLimits(absl::string_view text, const TenantLimits& defaults) {
  QB_ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  if (!json.is_object()) {
    return absl::InvalidArgumentError("expected an object with \"default\" and \"tenants\"");
  }
  LimitTable table{defaults, {}};
  if (json.contains("default")) {
    QB_RETURN_IF_ERROR(ReadLimits("default", json["default"], table.fallback));
  }
  for (const auto& [key, value] : json.members()) {
    if (key == "tenants" && value.is_object()) {
      for (const auto& [tenant, limits] : value.members()) {
        TenantLimits& own = table.tenants.emplace(tenant, table.fallback).first->second;
        QB_RETURN_IF_ERROR(ReadLimits(absl::StrCat("tenants.", tenant), limits, own));
      }
    } else if (key != "default") {
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": expected objects \"default\" and \"tenants\""));
    }
  }
  return table;
}

absl::StatusOr<std::unique_ptr<LimitBook>> LimitBook::Create(std::string path,
                                                             const TenantLimits& defaults) {
  auto book = std::make_unique<LimitBook>(defaults);
  book->path_ = std::move(path);
  QB_RETURN_IF_ERROR(book->Refresh().status());
  return book;
}

TenantLimits LimitBook::For(absl::string_view tenant) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto own = table_.tenants.find(std::string(tenant));
  return own == table_.tenants.end() ? table_.fallback : own->second;
}

absl::StatusOr<bool> LimitBook::Refresh() {
  if (path_.empty()) {
    return false;
  }
  struct stat info = {};
  // Before the read: a change in between is read again.
  const Stamp stamp =
      stat(path_.c_str(), &info) == 0 ? Stamp{info.st_ino, info.st_size, info.st_ctim} : Stamp{};
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (stamp == stamp_ && stamp.inode != 0) {
      return false;
    }
  }
  const absl::StatusOr<std::string> text = ReadFile(path_, kMostBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(), absl::StrCat("--limits: ", text.status().message()));
  }
  absl::StatusOr<LimitTable> table = ParseLimits(*text, defaults_);
  if (!table.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--limits: '", path_, "': ", table.status().message()));
  }
  absl::MutexLock lock(&mutex_);
  stamp_ = stamp;
  table_ = *std::move(table);
  return true;
}

}  // namespace qb::server
