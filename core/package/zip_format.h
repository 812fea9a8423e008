// Numbers of the ZIP format that writer and reader share. Source: PKWARE APPNOTE 6.3.9.
#pragma once

#include <cstdint>

namespace qb::zip {

inline constexpr uint64_t kAlignment = 64;
inline constexpr uint64_t kMax32 = 0xFFFFFFFF;
inline constexpr uint32_t kLocalHeaderMagic = 0x04034b50;
inline constexpr uint32_t kCentralHeaderMagic = 0x02014b50;
inline constexpr uint32_t kEndMagic = 0x06054b50;
inline constexpr uint32_t kZip64EndMagic = 0x06064b50;
inline constexpr uint32_t kZip64LocatorMagic = 0x07064b50;
inline constexpr uint64_t kLocalHeaderBytes = 30;
inline constexpr uint64_t kCentralHeaderBytes = 46;
inline constexpr uint64_t kEndBytes = 22;
inline constexpr uint64_t kZip64EndBytes = 56;
inline constexpr uint64_t kZip64LocatorBytes = 20;
inline constexpr uint16_t kZip64Extra = 0x0001;
inline constexpr uint16_t kPaddingExtra = 0x7142;
inline constexpr uint16_t kFixedDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01

}  // namespace qb::zip
