#include "allocator.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

namespace torch::shared {

int Allocator::class_of(uint64_t size) {
  if (size <= 256) return int((size + 63) / 64) - 1 + (size == 0);  // 64, 128, 192, 256
  int log = 63 - std::countl_zero(size - 1);                        // 2^log < size <= 2^(log + 1)
  return 4 + (log - 8) * 4 + int((size - 1) >> (log - 2) & 3);
}
uint64_t Allocator::size_of(int size_class) {
  if (size_class < 4) return uint64_t(64) * (size_class + 1);
  int log = 8 + (size_class - 4) / 4;
  return (uint64_t(1) << log) + ((uint64_t(1) << log) / 4) * ((size_class - 4) % 4 + 1);
}

uint32_t Allocator::allocate(uint64_t size) { return size > kLarge ? allocate_large(size) : allocate_small(size); }

uint32_t Allocator::new_entry(uint64_t offset, uint64_t size) {
  uint32_t i;
  Header& h = segment_.header();
  if (!spare_.empty()) {
    i = spare_.back();
    spare_.pop_back();
  } else {
    i = h.entries.load();
    if (i == kMaxEntries)
      throw std::runtime_error("shared memory: more than " + std::to_string(kMaxEntries) +
                               " blocks are shared at a time");
    uint64_t per_page = kPage / sizeof(Entry);
    if (i % per_page == 0) segment_.allocate_pages(sizeof(Header) + i * sizeof(Entry), kPage + kPage);
  }
  Entry& e = segment_.entry(i);
  e.offset = offset;
  e.size = size;
  e.punched.store(0);
  if (i == h.entries.load()) h.entries.store(i + 1);
  return i;
}

uint32_t Allocator::take(uint32_t i) {
  Entry& e = segment_.entry(i);
  e.generation.fetch_add(1);
  e.in_transit.store(0);
  e.count.store(1);
  segment_.hold(i);
  return i;
}

uint32_t Allocator::allocate_small(uint64_t size) {
  int c = class_of(size);
  if (classes_[c].empty()) look_at_small(8);
  if (classes_[c].empty()) {
    uint64_t width = size_of(c);
    if (chunk_ + width > chunk_end_) {
      reap();
      look_at_small(int(small_.size()));
      if (free_small_ > kSmallLimit) give_back_chunks();
      if (classes_[c].empty()) {
        if (!find(kChunk, &chunk_)) chunk_ = grow(kChunk);
        chunk_end_ = chunk_ + kChunk;
        chunks_[chunk_] = 0;
      }
    }
    if (classes_[c].empty()) {
      classes_[c].push_back(new_entry(chunk_, width));
      ++std::prev(chunks_.upper_bound(chunk_))->second;
      chunk_ += width;
      free_small_ += width;
    }
  }
  uint32_t i = classes_[c].back();
  classes_[c].pop_back();
  free_small_ -= size_of(c);
  small_.push_back(i);
  return take(i);
}

void Allocator::look_at_small(int how_many) {
  for (int n = 0; n < how_many && !small_.empty(); ++n) {
    uint32_t i = small_.front();
    small_.pop_front();
    if (is_free(i)) {
      classes_[class_of(segment_.entry(i).size)].push_back(i);
      free_small_ += segment_.entry(i).size;
    } else {
      small_.push_back(i);
    }
  }
}

void Allocator::give_back_chunks() {
  std::map<uint64_t, uint32_t> free;  // blocks of each chunk
  auto chunk_of = [&](uint32_t i) { return std::prev(chunks_.upper_bound(segment_.entry(i).offset)); };
  for (auto& list : classes_)
    for (uint32_t i : list) ++free[chunk_of(i)->first];
  auto goes = [&](uint32_t i) {
    auto chunk = chunk_of(i);
    return chunk->second == free[chunk->first] && chunk->first + kChunk != chunk_end_;
  };
  std::vector<uint64_t> gone;
  for (auto& list : classes_) {
    auto kept = std::partition(list.begin(), list.end(), [&](uint32_t i) { return !goes(i); });
    for (auto it = kept; it != list.end(); ++it) {
      gone.push_back(chunk_of(*it)->first);
      free_small_ -= segment_.entry(*it).size;
      spare_.push_back(*it);
    }
    list.erase(kept, list.end());
  }
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  for (uint64_t chunk : gone) {
    chunks_.erase(chunk);
    release(chunk, kChunk, true);
    segment_.header().idle_bytes.fetch_add(int64_t(kChunk), std::memory_order_relaxed);
  }
  trim(kCacheLimit);
}

uint32_t Allocator::allocate_large(uint64_t size) {
  size = (size + kPage - 1) / kPage * kPage;
  uint64_t offset;
  if (!find(size, &offset)) {
    look_at_large();
    if (!find(size, &offset)) {
      reap();
      look_at_large();
      if (!find(size, &offset)) offset = grow(size);
    }
  }
  uint32_t i;
  try {
    i = new_entry(offset, size);
  } catch (...) {
    release(offset, size, true);
    segment_.header().idle_bytes.fetch_add(int64_t(size), std::memory_order_relaxed);
    throw;
  }
  large_.push_back(i);
  return take(i);
}

void Allocator::look_at_large() {
  for (size_t n = large_.size(); n > 0; --n) {
    uint32_t i = large_.front();
    large_.pop_front();
    if (!is_free(i)) {
      large_.push_back(i);
      continue;
    }
    Entry& e = segment_.entry(i);
    bool punched = e.punched.load();
    if (punched) backed_ -= e.size;
    release(e.offset, e.size, !punched);
    spare_.push_back(i);
  }
  trim(kCacheLimit);
}

void Allocator::release(uint64_t offset, uint64_t size, bool backed) {
  if (backed) free_backed_ += size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first && next->second.backed == backed) {
    size += next->second.size;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second.size == offset && before->second.backed == backed) {
      before->second.size += size;
      return;
    }
  }
  free_[offset] = {size, backed};
}

bool Allocator::find(uint64_t size, uint64_t* offset) {
  // The smallest range that is large enough, one with memory before one without.
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.size < size) continue;
    if (best == free_.end() || it->second.backed > best->second.backed ||
        (it->second.backed == best->second.backed && it->second.size < best->second.size))
      best = it;
  }
  if (best == free_.end()) return false;
  auto [begin, range] = *best;
  if (!range.backed) {
    segment_.allocate_pages(begin, size);
    backed_ += size;
  } else {
    free_backed_ -= size;
    segment_.header().idle_bytes.fetch_sub(int64_t(size), std::memory_order_relaxed);
  }
  free_.erase(best);
  if (range.size > size) free_[begin + size] = {range.size - size, range.backed};
  *offset = begin;
  return true;
}

uint64_t Allocator::grow(uint64_t size) {
  if (top_ + size > segment_.size())
    throw std::runtime_error("shared memory: " + std::to_string(size) + " bytes do not fit behind the " +
                             std::to_string(top_) + " in use of a segment of " + std::to_string(segment_.size()));
  segment_.allocate_pages(top_, size);
  uint64_t offset = top_;
  top_ += size;
  backed_ += size;
  return offset;
}

void Allocator::trim(uint64_t keep) {
  while (free_backed_ > keep) {
    auto largest = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second.backed && (largest == free_.end() || it->second.size > largest->second.size)) largest = it;
    if (largest == free_.end()) return;
    auto [offset, range] = *largest;
    segment_.free_pages(offset, range.size);
    free_backed_ -= range.size;
    backed_ -= range.size;
    segment_.header().idle_bytes.fetch_sub(int64_t(range.size), std::memory_order_relaxed);
    free_.erase(largest);
    release(offset, range.size, false);
  }
}

void Allocator::reap() {
  for (int slot = 0; slot < kDispatchKeys; ++slot)
    if (segment_.header().used[slot].load(std::memory_order_relaxed) && !segment_.slot_is_alive(slot))
      segment_.clean_slot(slot);
}

void Allocator::sweep(uint64_t keep) {
  reap();
  look_at_small(int(small_.size()));
  give_back_chunks();
  look_at_large();
  trim(keep);
}

uint64_t Allocator::live_bytes() const {
  uint64_t n = 0;
  for (uint32_t i : small_) n += segment_.entry(i).size;
  for (uint32_t i : large_) n += segment_.entry(i).size;
  return n;
}

}  // namespace torch::shared
