// The store of page ranges under the allocator: best fit over free ranges, which merge with their neighbours.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace torch {

// A piece of unused address space. Its first `dirty` bytes may have been touched and then occupy memory; the
// rest is as fresh as the system gave it.
struct FreeRange {
  size_t size = 0;
  size_t dirty = 0;
  uint64_t freed_at = 0;
};

using Range = std::pair<char*, size_t>;

// Not thread-safe; the allocator's lock guards it. It never calls the system.
class RangeStore {
 public:
  // The best free range of at least `size` bytes, nullptr when there is none. Touched ranges go first, then the
  // smallest; `fresh` receives how many bytes of it have never been touched.
  char* take(size_t size, size_t* fresh);
  // Adds a range; `dirty` bytes at its start occupy memory.
  void add(char* start, size_t size, size_t dirty);
  // Takes touched ranges out, the longest unused first, until held() <= limit; the caller unmaps them.
  void trim(size_t limit, std::vector<Range>* out);
  // Takes all out, the untouched ones as well.
  void take_all(std::vector<Range>* out);
  size_t held() const noexcept { return held_; }

 private:
  using ByStart = std::map<char*, FreeRange>;
  void insert(char* start, const FreeRange& range);
  void erase(ByStart::iterator range);

  ByStart by_start_;
  std::set<std::pair<size_t, char*>> by_size_;
  size_t held_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace torch
