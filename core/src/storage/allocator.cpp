// allocate and deallocate: size classes below 128 KiB, page ranges above (allocator.h tells the picture).
#include "torch/core/allocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "os/os.h"
#include "storage/allocator.h"
#include "storage/poison.h"
#include "torch/core/error.h"

namespace torch {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
constexpr size_t kLargestClass = 128 << 10;
constexpr size_t kLargestMiddle =
    1 << 20;  // blocks up to here live in mappings of their own, so as not to cut up large ones
constexpr size_t kMiddleMapping = 8 << 20, kLargeMapping = 64 << 20;
constexpr size_t kMiddleStep = kPage, kLargeStep = 64 << 10;
constexpr size_t kSlack = 64 << 20;  // held memory that the quarter rule always allows

constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// Class c holds blocks of (8 + c % 8) * 2^(c / 8) * 8 bytes, rounded up to 64: at most an eighth is wasted.
constexpr int kFirstShift = 3;
constexpr int class_of(size_t bytes) {
  if (bytes <= 64) return 0;
  const int shift = std::bit_width(bytes - 1) - 4;  // bytes - 1 = (8 .. 15) << shift + ...
  return (shift - kFirstShift) * 8 + static_cast<int>((bytes - 1) >> shift) - 8 + 1;
}
constexpr size_t class_size(int c) { return round_up((size_t{8} + c % 8) << (c / 8 + kFirstShift), kAlignment); }
constexpr int kClasses = class_of(kLargestClass) + 1;
static_assert(class_size(class_of(65)) >= 65 && class_size(class_of(4097)) >= 4097 &&
              class_size(class_of(5120)) == 5120);
static_assert(class_size(kClasses - 1) == kLargestClass);

uint64_t default_limit() {
  if (const char* text = std::getenv("TORCH_CACHE_BYTES"); text && *text) {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    const std::string unit = end;
    const double scale = unit.empty()  ? 1
                         : unit == "K" ? 1024.0
                         : unit == "M" ? 1048576.0
                         : unit == "G" ? 1073741824.0
                                       : 0;
    if (end != text && value >= 0 && value < 1e15 && scale > 0) return static_cast<uint64_t>(value * scale);
    std::fprintf(stderr, "torch: TORCH_CACHE_BYTES=%s is ignored: expected a number such as 0, 500M or 4G\n", text);
  }
  return os::memory_total(false) / 8;
}

struct Classes {
  std::mutex mutex;
  std::vector<void*> freed[kClasses];
  size_t held = 0;
};

struct Ranges {
  std::mutex mutex;
  RangeStore middle, large;
  uint64_t taken = 0, peak_taken = 0;  // bytes of ranges in use
  size_t held() const noexcept { return middle.held() + large.held(); }
};

class Allocator {
 public:
  Allocator() : limit_(default_limit()), most_(os::memory_total(true)) {}

  void* allocate(size_t bytes) {
    if (bytes == 0) return nullptr;
    allocations_.fetch_add(1, std::memory_order_relaxed);
    void* const block = bytes <= kLargestClass ? allocate_class(bytes) : allocate_range(bytes);
    lend_block(block, bytes, held_size(bytes));
    const uint64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return block;
  }

  void deallocate(void* block, size_t bytes) noexcept {
    if (!block) return;
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    poison(block, held_size(bytes));
    bytes <= kLargestClass ? deallocate_class(block, bytes) : deallocate_range(static_cast<char*>(block), bytes);
  }

  MemoryStats stats() noexcept {
    MemoryStats s;
    s.in_use = in_use_.load(std::memory_order_relaxed);
    s.peak_in_use = peak_.load(std::memory_order_relaxed);
    s.limit = limit_.load(std::memory_order_relaxed);
    s.allocations = allocations_.load(std::memory_order_relaxed);
    s.hits = hits_.load(std::memory_order_relaxed);
    s.trims = trims_.load(std::memory_order_relaxed);
    std::scoped_lock lock(classes_.mutex, ranges_.mutex);
    s.held = classes_.held + ranges_.held();
    return s;
  }

  void reset_peak() noexcept { peak_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  void set_limit(uint64_t bytes) noexcept {
    limit_.store(bytes, std::memory_order_relaxed);
    release_classes(bytes / 4);
    std::vector<Range> out;
    {
      std::lock_guard<std::mutex> lock(ranges_.mutex);
      trim_to(bytes, &out);
    }
    unmap(out);
  }

  void empty_cache() noexcept {
    release_classes(0);
    std::vector<Range> out;
    {
      std::lock_guard<std::mutex> lock(ranges_.mutex);
      ranges_.middle.take_all(&out);
      ranges_.large.take_all(&out);
    }
    unmap(out);
  }

  void lock() { std::lock(classes_.mutex, ranges_.mutex); }
  void unlock() {
    classes_.mutex.unlock();
    ranges_.mutex.unlock();
  }

 private:
  void* allocate_class(size_t bytes) {
    const int c = class_of(bytes);
    {
      std::lock_guard<std::mutex> lock(classes_.mutex);
      auto& freed = classes_.freed[c];
      if (!freed.empty()) {
        void* const block = freed.back();
        freed.pop_back();
        classes_.held -= class_size(c);
        hits_.fetch_add(1, std::memory_order_relaxed);
        return block;
      }
    }
    void* block = std::aligned_alloc(kAlignment, class_size(c));
    if (!block) {
      empty_cache();
      block = std::aligned_alloc(kAlignment, class_size(c));
    }
    if (!block) out_of_memory(bytes);
    return block;
  }

  void deallocate_class(void* block, size_t bytes) noexcept {
    const int c = class_of(bytes);
    {
      std::lock_guard<std::mutex> lock(classes_.mutex);
      if (classes_.held + class_size(c) <= std::min<uint64_t>(limit_.load(std::memory_order_relaxed) / 4, kSlack)) {
        classes_.freed[c].push_back(block);
        classes_.held += class_size(c);
        return;
      }
    }
    unpoison(block, class_size(c));
    std::free(block);
  }

  void release_classes(size_t limit) noexcept {
    std::lock_guard<std::mutex> lock(classes_.mutex);
    for (int c = kClasses - 1; c >= 0; --c)
      while (classes_.held > limit && !classes_.freed[c].empty()) {
        unpoison(classes_.freed[c].back(), class_size(c));
        std::free(classes_.freed[c].back());
        classes_.freed[c].pop_back();
        classes_.held -= class_size(c);
      }
  }

  static size_t held_size(size_t bytes) {
    return bytes <= kLargestClass ? class_size(class_of(bytes)) : range_size(bytes);
  }
  static size_t range_size(size_t bytes) { return round_up(bytes, bytes <= kLargestMiddle ? kMiddleStep : kLargeStep); }
  RangeStore& store_of(size_t bytes) { return bytes <= kLargestMiddle ? ranges_.middle : ranges_.large; }

  void* allocate_range(size_t bytes) {
    if (bytes > most_) out_of_memory(bytes);
    const size_t size = range_size(bytes);
    char* block = nullptr;
    std::vector<Range> out;
    {
      std::lock_guard<std::mutex> lock(ranges_.mutex);
      if (ranges_.taken + size > most_) out_of_memory(bytes);
      size_t fresh = 0;
      block = store_of(bytes).take(size, &fresh);
      if (block && fresh == 0) hits_.fetch_add(1, std::memory_order_relaxed);
      if (!block) {
        block = map(bytes, size);
        fresh = size;
      }
      if (block) {
        ranges_.taken += size;
        ranges_.peak_taken = std::max(ranges_.peak_taken, ranges_.taken);
        // Before fresh pages are touched, what lies idle beyond a quarter of the peak goes.
        if (fresh > 0)
          trim_to(std::min<uint64_t>(limit_.load(std::memory_order_relaxed),
                                     ranges_.peak_taken * 5 / 4 + kSlack - ranges_.taken),
                  &out);
      }
    }
    unmap(out);
    if (!block) out_of_memory(bytes);
    return block;
  }

  void deallocate_range(char* block, size_t bytes) noexcept {
    const size_t size = range_size(bytes);
    std::vector<Range> out;
    {
      std::lock_guard<std::mutex> lock(ranges_.mutex);
      ranges_.taken -= size;
      store_of(bytes).add(block, size, size);
      trim_to(limit_.load(std::memory_order_relaxed), &out);
    }
    unmap(out);
  }

  // Trims both stores so that they hold at most `limit` together.
  void trim_to(uint64_t limit, std::vector<Range>* out) {
    if (ranges_.held() <= limit) return;
    ranges_.large.trim(limit > ranges_.middle.held() ? limit - ranges_.middle.held() : 0, out);
    ranges_.middle.trim(limit - std::min<uint64_t>(limit, ranges_.large.held()), out);
  }

  // A new mapping for `size` bytes; what it has beyond goes to the store. Called with the lock held.
  char* map(size_t bytes, size_t size) {
    const size_t usual = bytes <= kLargestMiddle ? kMiddleMapping : kLargeMapping;
    size_t length = round_up(std::max(size, usual), kHugePage);
    char* start = map_aligned(length);
    if (!start) {
      std::vector<Range> out;
      ranges_.middle.take_all(&out);
      ranges_.large.take_all(&out);
      unmap(out);
      start = map_aligned(length = round_up(size, kHugePage));
    }
    if (start && length > size) store_of(bytes).add(start + size, length - size, 0);
    return start;
  }

  static char* map_aligned(size_t length) {
    char* const start = os::map(length, kHugePage);
    if (start) os::want_huge_pages(start, length);
    return start;
  }

  void unmap(const std::vector<Range>& ranges) noexcept {
    for (const auto& [start, size] : ranges) {
      unpoison(start, size);
      os::unmap(start, size);
    }
    trims_.fetch_add(ranges.size(), std::memory_order_relaxed);
  }

  [[noreturn]] TORCH_NOINLINE void out_of_memory(size_t bytes) {
    const auto mib = [](uint64_t n) { return n >> 20; };
    throw_error(ErrorKind::OutOfMemory,
                message("not enough memory: tried to allocate ", bytes, " bytes (", mib(bytes), " MiB); tensors use ",
                        mib(in_use_.load()), " MiB of the ", mib(most_), " MiB that this process can have"));
  }

  std::atomic<uint64_t> limit_;
  const uint64_t most_;
  Classes classes_;
  Ranges ranges_;
  std::atomic<uint64_t> in_use_{0}, peak_{0}, allocations_{0}, hits_{0}, trims_{0};
};

// Never destroyed: tensors may outlive every static object.
Allocator& allocator() {
  static Allocator* const instance = [] {
    auto* const made = new Allocator;
    os::at_fork([] { allocator().lock(); }, [] { allocator().unlock(); }, [] { allocator().unlock(); });
    return made;
  }();
  return *instance;
}

}  // namespace

void* allocate(size_t bytes) { return allocator().allocate(bytes); }
void deallocate(void* block, size_t bytes) noexcept { allocator().deallocate(block, bytes); }
MemoryStats memory_stats() noexcept { return allocator().stats(); }
void reset_peak_memory() noexcept { allocator().reset_peak(); }
void empty_cache() noexcept { allocator().empty_cache(); }
void set_memory_limit(uint64_t bytes) noexcept { allocator().set_limit(bytes); }

}  // namespace torch
