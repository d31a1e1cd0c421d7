#include <algorithm>
#include <cstring>

#include "torch/core/crc32.h"
#include "torch/core/error.h"
#include "zip.h"

namespace torch::program {

namespace {
constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
constexpr uint64_t kMax32 = 0xFFFFFFFF, kMax16 = 0xFFFF;
}  // namespace

void ZipReader::fail(const std::string& what) const { throw_error(ErrorKind::Runtime, name_ + ": " + what); }

uint64_t ZipReader::number(size_t at, int width) const {
  if (at > size_ || size_ - at < size_t(width)) fail("the archive is damaged: it ends too early");
  uint64_t v = 0;
  for (int i = width; i-- > 0;) v = v << 8 | bytes_[at + size_t(i)];
  return v;
}

ZipReader::End ZipReader::end() const {
  if (size_ < kEndSize) fail("not a zip archive");
  size_t at = size_ - kEndSize;
  const size_t lowest = at > kMax16 ? at - kMax16 : 0;
  while (number(at, 4) != kEnd || number(at + 20, 2) != size_ - at - kEndSize)
    if (at-- == lowest) fail("not a zip archive, or one that is cut off");
  End e{number(at + 10, 2), number(at + 12, 4), number(at + 16, 4)};
  uint64_t last = at;
  if (at >= 20 && number(at - 20, 4) == kLocator64) {
    const uint64_t where = number(at - 12, 8);
    if (where > at - 20 || number(where, 4) != kEnd64)
      fail("the archive is damaged: its directory is not where it says");
    e = {number(where + 32, 8), number(where + 40, 8), number(where + 48, 8)};
    last = where;
  }
  if (e.start > last || e.size > last - e.start) fail("the archive is damaged: its directory is not where it says");
  return e;
}

void ZipReader::entry(size_t& at, size_t limit) {
  if (limit - at < kEntrySize || number(at, 4) != kEntry) fail("the archive is damaged: its directory is broken");
  const uint64_t flags = number(at + 8, 2), method = number(at + 10, 2), name_size = number(at + 28, 2),
                 extra_size = number(at + 30, 2), comment_size = number(at + 32, 2);
  if (limit - at - kEntrySize < name_size + extra_size + comment_size)
    fail("the archive is damaged: its directory is broken");
  const std::string name(reinterpret_cast<const char*>(bytes_) + at + kEntrySize, name_size);
  const uint32_t crc = uint32_t(number(at + 16, 4));
  uint64_t packed = number(at + 20, 4), size = number(at + 24, 4), local = number(at + 42, 4);
  for (size_t extra = at + kEntrySize + name_size, end = extra + extra_size; end - extra >= 4;) {
    const uint64_t id = number(extra, 2), length = number(extra + 2, 2);
    if (length > end - extra - 4) break;
    if (id == 1) {  // zip64: those that do not fit above, in this order
      size_t from = extra + 4, left = length;
      for (uint64_t* each : {&size, &packed, &local})
        if (*each == kMax32 && left >= 8) *each = number(from, 8), from += 8, left -= 8;
    }
    extra += 4 + length;
  }
  at += kEntrySize + name_size + extra_size + comment_size;
  if (name.ends_with('/')) return;  // a folder
  if (flags & 1) fail("member '" + name + "' is encrypted");
  if (method != 0 || packed != size)
    fail("member '" + name + "' is compressed: programs are in archives whose members are stored");
  if (local > size_ || number(local, 4) != kLocal || number(local + 26, 2) != name_size ||
      size_ - local < kLocalSize + name_size || std::memcmp(bytes_ + local + kLocalSize, name.data(), name_size) != 0)
    fail("the archive is damaged: member '" + name + "' is not where the directory says");
  const uint64_t from = local + kLocalSize + name_size + number(local + 28, 2);
  if (from > size_ || size > size_ - from) fail("the archive is damaged: member '" + name + "' reaches beyond its end");
  const Member m{size_t(from), size_t(size), crc};
  if (!members_.emplace(name, m).second) fail("the archive has two members '" + name + "'");
}

ZipReader::ZipReader(const void* bytes, size_t size, std::string name)
    : bytes_(static_cast<const unsigned char*>(bytes)), size_(size), name_(std::move(name)) {
  const End e = end();
  size_t at = e.start;
  for (uint64_t i = 0; i < e.count; ++i) entry(at, e.start + e.size);
  if (at != e.start + e.size) fail("the archive is damaged: its directory is longer than its members");
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const auto& [each, m] : members_) ranges.emplace_back(m.offset, m.size);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].second > (i + 1 < ranges.size() ? ranges[i + 1].first : e.start) - ranges[i].first)
      fail("the archive is damaged: its members overlap");
}

const ZipReader::Member* ZipReader::find(std::string_view name) const {
  auto at = members_.find(name);
  return at == members_.end() ? nullptr : &at->second;
}

void ZipReader::check_sum(std::string_view name, const Member& m) const {
  if (crc32(bytes_ + m.offset, m.size) != m.crc)
    fail("the archive is damaged: the checksum of member '" + std::string(name) + "' differs");
}

}  // namespace torch::program
