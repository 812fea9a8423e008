// Feeds arbitrary bytes, in pieces of arbitrary size, to the reader of the compile process's
// output.
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"

#include "core/base/check.h"
#include "worker/agent/jsonl.h"

namespace {

// What is sent on goes into protobuf strings: they must be valid UTF-8, which CleanText leaves
// alone.
void CheckText(const std::string& text) {
  QB_CHECK(qb::worker::CleanText(text, text.size()) == text);
}

void CheckMessage(const qb::worker::CompilerMessage& message) {
  QB_CHECK(message.seq >= 0);
  if (const auto* log = std::get_if<qb::worker::LogMessage>(&message.body)) {
    CheckText(log->message);
    CheckText(log->logger);
  } else if (const auto* progress = std::get_if<qb::worker::ProgressMessage>(&message.body)) {
    CheckText(progress->stage);
    QB_CHECK(progress->fraction >= 0 && progress->fraction <= 1);
    QB_CHECK(progress->done >= 0 && progress->done <= progress->total);
  } else if (const auto* error = std::get_if<qb::worker::ErrorMessage>(&message.body)) {
    CheckText(error->message);
  } else if (const auto* result = std::get_if<qb::worker::ResultMessage>(&message.body)) {
    CheckText(result->rest_json);
  } else if (const auto* garbage = std::get_if<qb::worker::GarbageMessage>(&message.body)) {
    CheckText(garbage->text);
    CheckText(garbage->reason);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) {
    return 0;
  }
  const size_t piece = 1 + static_cast<unsigned char>(bytes[0]);
  qb::worker::LineSplitter splitter(4096);
  const auto on_line = [](absl::string_view line, bool) {
    CheckMessage(qb::worker::ParseCompilerLine(line));
  };
  for (size_t i = 1; i < bytes.size(); i += piece) {
    splitter.Feed(bytes.substr(i, piece), on_line);
  }
  splitter.Finish(on_line);
  return 0;
}
