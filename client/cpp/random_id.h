// Identifiers that nobody else chooses.
#pragma once

#include <string>

namespace qb::client {

// A version 4 UUID from the system's random source.
std::string RandomUuid();

}  // namespace qb::client
