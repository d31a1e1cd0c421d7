// Finds room for blocks in a segment that this process owns.
//
// Small blocks come in size classes, four to a doubling, cut from chunks; large ones are whole pages from a map of free
// ranges that merges neighbours. The owner is not told that a block is free: it looks at the counts when it allocates,
// at a few of the oldest small blocks each time and at all large ones before the segment grows.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "segment.h"

namespace torch::shared {

constexpr uint64_t kCacheLimit = 256u << 20;  // bytes of free memory that stay backed
constexpr uint64_t kSmallLimit = 64u << 20;   // bytes of free small blocks above which whole chunks are given back

class Allocator {
 public:
  explicit Allocator(Segment& segment) : segment_(segment), top_(segment.header().data_start) {}

  // A block of at least `size` bytes, held by this process: count 1. Throws std::runtime_error when there is no room.
  uint32_t allocate(uint64_t size);
  // Takes back the references of dead processes.
  void reap();
  // The same, then every block that no process holds. Gives free pages to the system
  // beyond `keep` bytes.
  void sweep(uint64_t keep = kCacheLimit);

  uint64_t live_blocks() const { return small_.size() + large_.size(); }
  uint64_t live_bytes() const;
  uint64_t backed_bytes() const { return backed_; }

 private:
  static constexpr uint64_t kChunk = 256 << 10;
  static constexpr int kClasses = 40;
  static int class_of(uint64_t size);
  static uint64_t size_of(int size_class);

  uint32_t allocate_small(uint64_t size);
  uint32_t allocate_large(uint64_t size);
  uint32_t take(uint32_t entry);
  uint32_t new_entry(uint64_t offset, uint64_t size);
  bool is_free(uint32_t entry) const { return segment_.entry(entry).count.load() == 0; }
  void look_at_small(int how_many);
  void look_at_large();
  void give_back_chunks();
  void release(uint64_t offset, uint64_t size, bool backed);
  bool find(uint64_t size, uint64_t* offset);
  uint64_t grow(uint64_t size);
  void trim(uint64_t keep);

  struct Range {
    uint64_t size;
    bool backed;
  };
  Segment& segment_;
  uint64_t top_;
  uint64_t backed_ = 0;       // bytes below top_ that have memory
  uint64_t free_backed_ = 0;  // of these, in free_
  std::map<uint64_t, Range> free_;
  std::vector<uint32_t> classes_[kClasses];  // free small blocks
  std::vector<uint32_t> spare_;              // entries of large blocks that are gone
  std::deque<uint32_t> small_, large_;       // handed out, oldest first
  uint64_t chunk_ = 0, chunk_end_ = 0;
  uint64_t free_small_ = 0;              // bytes in classes_
  std::map<uint64_t, uint32_t> chunks_;  // where each begins: the number of blocks cut from it
};

}  // namespace torch::shared
