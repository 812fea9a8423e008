#include "server/config_check.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/atomic_file.h"
#include "core/base/certificate.h"
#include "server/auth/credential_file.h"
#include "server/jobs/sqlite_schema.h"
#include "server/listeners.h"
#include "server/process/file_lock.h"
#include "server/quota/tenant_limits.h"
#include "server/rpc/server_credentials.h"

namespace qb::server {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kSoon = absl::Hours(24 * 30);

struct FileSystemName {
  uint64_t magic;
  const char* name;
  bool remote;  // no place for a write-ahead log
};

// Numbers of statfs(2).
constexpr auto kFileSystems = std::to_array<FileSystemName>({
    {0xef53, "ext4", false},
    {0x58465342, "xfs", false},
    {0x9123683e, "btrfs", false},
    {0x2fc12fc1, "zfs", false},
    {0xf2f52010, "f2fs", false},
    {0x794c7630, "overlayfs", false},
    {0x01021994, "tmpfs", false},
    {0x6969, "NFS", true},
    {0xff534d42, "CIFS", true},
    {0xfe534d42, "SMB", true},
    {0x517b, "SMB", true},
    {0x01021997, "9p", true},
    {0x65735546, "FUSE", true},
    {0x00c36400, "Ceph", true},
    {0x19830326, "FhGFS", true},
    {0x0bd00bd0, "Lustre", true},
    {0x47504653, "GPFS", true},
});
constexpr uint64_t kTmpfs = 0x01021994;

// The longest start of `path` that is there.
std::string ExistingPart(std::string path) {
  std::error_code error;
  while (path.size() > 1 && !fs::exists(path, error)) {
    path = fs::path(path).parent_path().string();
  }
  return path;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void CheckWritableFolder(const std::string& flag, const std::string& folder, Findings& findings) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    findings.Problem(flag, absl::StrCat("'", folder, "' is not a folder"));
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    findings.Problem(flag, absl::StrCat("the folder '", folder, "' cannot be written"));
  }
}

void CheckSocketFolder(const std::string& flag, const ListenAddress& listen,
                       const std::string& data_dir, Findings& findings) {
  // The data folder is made at the start.
  if (!listen.unix_path.empty() && FolderOf(listen.unix_path) != data_dir) {
    CheckWritableFolder(flag, FolderOf(listen.unix_path), findings);
  }
}

// ---- TLS

void CheckValidity(const std::string& flag, const std::string& path, Findings& findings) {
  const absl::StatusOr<std::string> pem = ReadFile(path, int64_t{4} << 20);
  if (!findings.Check(flag, pem.status())) {
    return;
  }
  const absl::StatusOr<CertificateFacts> facts = ReadCertificate(*pem);
  if (!facts.ok()) {
    findings.Problem(flag, absl::StrCat("'", path, "': ", facts.status().message()));
    return;
  }
  const absl::Time now = absl::Now();
  const std::string until =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", facts->not_after, absl::UTCTimeZone());
  const std::string text = absl::StrCat("'", path, "' (", facts->subject, ")");
  if (now < facts->not_before) {
    findings.Problem(flag, absl::StrCat(text, " is not valid yet"));
  } else if (now >= facts->not_after) {
    findings.Problem(flag, absl::StrCat(text, " expired at ", until));
  } else if (now + kSoon >= facts->not_after) {
    findings.Note(flag, absl::StrCat(text, " expires soon, at ", until));
  } else {
    findings.Good(flag, absl::StrCat(text, " is valid until ", until));
  }
}

void CheckKey(const TlsFiles& tls, Findings& findings) {
  const absl::StatusOr<std::string> certificate = ReadFile(tls.certificate_chain, int64_t{4} << 20);
  const absl::StatusOr<std::string> key = ReadFile(tls.private_key, int64_t{4} << 20);
  if (!findings.Check("--tls-key", key.status()) || !certificate.ok()) {
    return;
  }
  if (const absl::Status fits = CheckKeyFits(*certificate, *key); !fits.ok()) {
    findings.Problem("--tls-key", absl::StrCat("'", tls.private_key, "': ", fits.message()));
  }
  struct stat info = {};
  if (stat(tls.private_key.c_str(), &info) == 0 && (info.st_mode & 0007) != 0) {
    findings.Note("--tls-key",
                  absl::StrCat("'", tls.private_key, "' may be read by everybody: chmod o= it"));
  }
}

void CheckTls(const ServerOptions& options, Findings& findings) {
  if (options.tls.enabled()) {
    CheckValidity("--tls-cert", options.tls.certificate_chain, findings);
    CheckKey(options.tls, findings);
  }
  if (!options.tls.client_ca.empty()) {
    CheckValidity("--tls-client-ca", options.tls.client_ca, findings);
  }
  if (!options.worker_client_ca.empty()) {
    CheckValidity("--worker-client-ca", options.worker_client_ca, findings);
  }
}

// ---- callers

void CheckCredentials(const ServerOptions& options, Findings& findings) {
  if (!options.require_credentials) {
    findings.Note("--auth", "none: whoever can connect may do everything");
    return;
  }
  const std::string path = CredentialFilePath(options.data_dir);
  const absl::StatusOr<std::vector<Credential>> credentials = ReadCredentialFile(path);
  if (!findings.Check("credentials", credentials.status())) {
    return;
  }
  const int64_t now_ms = absl::ToUnixMillis(absl::Now());
  int valid = 0;
  for (const Credential& credential : *credentials) {
    valid +=
        credential.revoked_ms == 0 && (credential.expires_ms == 0 || credential.expires_ms > now_ms)
            ? 1
            : 0;
  }
  if (valid == 0) {
    findings.Note("credentials",
                  "nobody may call: make a token with `qbc-server token create`, at any time");
  } else {
    findings.Good("credentials", absl::StrCat(valid, " valid, in '", path, "'"));
  }
}

void CheckPrograms(const ServerFlags& flags, Findings& findings) {
  if (flags.local_workers == 0) {
    return;
  }
  for (const auto& [flag, path] : {std::pair("--worker-binary", flags.worker_binary),
                                   std::pair("--compiler-binary", flags.compiler_binary)}) {
    if (access(path.c_str(), X_OK) == 0) {
      findings.Good(flag, absl::StrCat("'", path, "' can be run"));
    } else {
      findings.Problem(flag, absl::StrCat("'", path, "' is not executable"));
    }
  }
}

// ---- data

void CheckDisk(const std::string& folder, int64_t min_free_bytes, Findings& findings) {
  struct statvfs space = {};
  struct statfs system = {};
  if (statvfs(folder.c_str(), &space) != 0 || statfs(folder.c_str(), &system) != 0) {
    findings.Problem("disk", absl::StrCat("'", folder, "' cannot be looked at"));
    return;
  }
  const auto free_bytes =
      static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  const auto magic = static_cast<uint64_t>(system.f_type) & 0xffffffff;
  std::string name = absl::StrCat("file system ", absl::Hex(magic));
  for (const FileSystemName& known : kFileSystems) {
    if (known.magic == magic) {
      name = known.name;
      if (known.remote) {
        findings.Problem("disk", absl::StrCat("'", folder, "' is on ", name,
                                              ": the database needs a local disk"));
        return;
      }
    }
  }
  const std::string room = absl::StrCat(free_bytes >> 20, " MiB free");
  if (free_bytes < min_free_bytes) {
    findings.Problem("disk", absl::StrCat(name, ", ", room, ": at least ", min_free_bytes >> 20,
                                          " MiB are needed"));
  } else if (magic == kTmpfs) {
    findings.Note("disk",
                  absl::StrCat(name, ", ", room, ": everything is gone when the machine restarts"));
  } else {
    findings.Good("disk", absl::StrCat(name, ", ", room));
  }
}

void CheckUse(const std::string& data_dir, Findings& findings) {
  const std::string lock = data_dir + "/lock";
  std::error_code error;
  if (fs::exists(lock, error) && !FileLock::Take(lock, "in use").ok()) {
    findings.Note("--data-dir", "a server is using it now");
  }
}

void CheckDatabase(const std::string& data_dir, Findings& findings) {
  const std::string path = data_dir + "/qbc.db";
  std::error_code error;
  if (!fs::exists(path, error)) {
    findings.Good("database", "none yet: the first start makes it");
    return;
  }
  const absl::StatusOr<int> version = ReadSchemaVersion(path);
  if (!findings.Check("database", version.status())) {
    return;
  }
  if (*version < CurrentSchemaVersion()) {
    findings.Note("database",
                  absl::StrCat("schema version ", *version, ": the next start brings it to ",
                               CurrentSchemaVersion(), ", and older programs refuse it then"));
  } else {
    findings.Good("database", absl::StrCat("schema version ", *version));
  }
}

}  // namespace

void CheckAccess(const ServerFlags& flags, Findings& findings) {
  const ServerOptions& options = flags.server;
  const absl::StatusOr<ListenAddress> listen = PlanClientListener(options);
  if (findings.Check("--listen", listen.status())) {
    findings.Good("--listen", options.listen);
    CheckSocketFolder("--listen", *listen, options.data_dir, findings);
  }
  if (options.require_credentials) {
    const absl::StatusOr<ListenAddress> workers = PlanWorkerListener(options);
    if (findings.Check("--worker-listen", workers.status())) {
      findings.Good("--worker-listen", workers->ToGrpc());
      CheckSocketFolder("--worker-listen", *workers, options.data_dir, findings);
    }
  }
  if (!options.http_listen.empty()) {
    findings.Check("--http-listen", PlanHttpListener(options).status());
  }
  CheckTls(options, findings);
  CheckCredentials(options, findings);
  findings.Check("--limits",
                 LimitBook::Create(options.limits_file, options.tenant_limits).status());
  CheckPrograms(flags, findings);
  for (const auto& [flag, path] : {std::pair("--port-file", flags.port_file),
                                   std::pair("--http-port-file", flags.http_port_file)}) {
    if (!path.empty()) {
      CheckWritableFolder(flag, FolderOf(path), findings);
    }
  }
}

void CheckDataFolder(const ServerFlags& flags, Findings& findings) {
  const std::string& data_dir = flags.server.data_dir;
  const std::string there = ExistingPart(data_dir);
  std::error_code error;
  if (!fs::is_directory(there, error)) {
    findings.Problem("--data-dir", absl::StrCat("'", there, "' is not a folder"));
    return;
  }
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    findings.Problem("--data-dir", absl::StrCat("the folder '", there, "' cannot be written"));
    return;
  }
  if (there != data_dir) {
    findings.Good("--data-dir", absl::StrCat("'", data_dir, "' is made at the first start"));
  } else {
    findings.Good("--data-dir", absl::StrCat("'", data_dir, "'"));
    CheckUse(data_dir, findings);
    CheckDatabase(data_dir, findings);
  }
  CheckDisk(there, flags.server.blobs.min_free_bytes, findings);
}

int RunConfigCheck(const ServerFlags& flags, std::ostream& out, std::ostream& err) {
  Findings findings;
  CheckAccess(flags, findings);
  CheckDataFolder(flags, findings);
  for (const Finding& finding : findings.list()) {
    if (finding.kind == FindingKind::kProblem) {
      err << "qbc-server: " << finding.subject << ": " << finding.text << "\n";
    } else if (finding.kind == FindingKind::kNote) {
      out << "note: " << finding.subject << ": " << finding.text << "\n";
    }
  }
  if (findings.problems() > 0) {
    err << "qbc-server: " << findings.problems() << " problems: the server would not start\n";
    return 2;
  }
  out << "the configuration is good\n";
  return 0;
}

}  // namespace qb::server
