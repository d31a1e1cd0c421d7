#include <algorithm>

#include "storage/allocator.h"

namespace torch {

void RangeStore::insert(char* start, const FreeRange& range) {
  by_start_.emplace(start, range);
  by_size_.emplace(range.size, start);
  held_ += range.dirty;
}

void RangeStore::erase(ByStart::iterator range) {
  by_size_.erase({range->second.size, range->first});
  held_ -= range->second.dirty;
  by_start_.erase(range);
}

char* RangeStore::take(size_t size, size_t* fresh) {
  constexpr int kLook = 16;  // candidates to look at for one that is touched throughout
  auto best = by_start_.end();
  auto candidate = by_size_.lower_bound({size, nullptr});
  for (int i = 0; i < kLook && candidate != by_size_.end(); ++i, ++candidate) {
    const auto range = by_start_.find(candidate->second);
    if (best == by_start_.end() || std::min(range->second.dirty, size) > std::min(best->second.dirty, size))
      best = range;
    if (best->second.dirty >= size) break;
  }
  if (best == by_start_.end()) return nullptr;
  char* const start = best->first;
  FreeRange rest = best->second;
  erase(best);
  *fresh = size - std::min(rest.dirty, size);
  rest.size -= size;
  rest.dirty -= std::min(rest.dirty, size);
  if (rest.size > 0) insert(start + size, rest);
  return start;
}

void RangeStore::add(char* start, size_t size, size_t dirty) {
  FreeRange range{size, dirty, ++clock_};
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.end() && start + range.size == next->first) {
    if (next->second.dirty > 0) range.dirty = range.size + next->second.dirty;
    range.size += next->second.size;
    const auto merged = next++;
    erase(merged);
  }
  if (next != by_start_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.size == start) {
      range.dirty = range.dirty > 0 ? before->second.size + range.dirty : before->second.dirty;
      range.size += before->second.size;
      start = before->first;
      erase(before);
    }
  }
  insert(start, range);
}

void RangeStore::trim(size_t limit, std::vector<Range>* out) {
  while (held_ > limit) {
    auto oldest = by_start_.end();
    for (auto range = by_start_.begin(); range != by_start_.end(); ++range)
      if (range->second.dirty > 0 && (oldest == by_start_.end() || range->second.freed_at < oldest->second.freed_at))
        oldest = range;
    out->emplace_back(oldest->first, oldest->second.size);
    erase(oldest);
  }
}

void RangeStore::take_all(std::vector<Range>* out) {
  for (const auto& [start, range] : by_start_) out->emplace_back(start, range.size);
  by_start_.clear();
  by_size_.clear();
  held_ = 0;
}

}  // namespace torch
