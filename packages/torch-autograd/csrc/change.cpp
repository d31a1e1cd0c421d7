#include "change.h"

#include <array>
#include <cstring>

namespace torch::autograd {

namespace {

// One entry per version counter, by hash: an older change of another tensor may be overwritten, and is then unknown.
struct Entry {
  std::atomic<const void*> counter{nullptr};
  std::atomic<const char*> schema{nullptr};
  std::atomic<uint32_t> version{0};
  std::atomic<Location> location{0};
};
constexpr size_t kEntries = 4096;
std::array<Entry, kEntries> entries;

Entry& entry_of(const void* counter) noexcept {
  uint64_t h = reinterpret_cast<uint64_t>(counter) >> 4;
  h *= 0x9e3779b97f4a7c15u;
  return entries[h >> 52];
}
static_assert(kEntries == 1u << 12);

}  // namespace

void note_change(TensorImpl* t, const char* schema_text) noexcept {
  std::atomic<uint32_t>& counter = t->version();
  Entry& e = entry_of(&counter);
  e.counter.store(&counter, std::memory_order_relaxed);
  e.schema.store(schema_text, std::memory_order_relaxed);
  e.version.store(counter.load(std::memory_order_relaxed), std::memory_order_relaxed);
  e.location.store(locate(), std::memory_order_relaxed);
}

std::string describe(Location at) {
  if (!at || !python.describe) return {};
  std::string where = python.describe(at);
  return where.empty() ? where : " at " + where;
}

std::string describe_change(TensorImpl& t) {
  std::atomic<uint32_t>& counter = t.version();
  Entry& e = entry_of(&counter);
  const char* schema = e.schema.load(std::memory_order_relaxed);
  if (e.counter.load(std::memory_order_relaxed) != &counter || !schema ||
      e.version.load(std::memory_order_relaxed) != counter.load(std::memory_order_relaxed))
    return {};
  const char* end = std::strchr(schema, '(');
  return std::string(schema, end ? size_t(end - schema) : std::strlen(schema)) +
         describe(e.location.load(std::memory_order_relaxed));
}

}  // namespace torch::autograd
