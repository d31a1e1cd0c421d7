// Small storages come from thread-local lists by size class, header and data in one block: the largest single win in
// small-operator overhead (the sketch: 36 ns against 97 without). Large data comes from the caching allocator.
#include "torch/core/storage.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "profile/memory.h"
#include "storage/copy_bytes.h"
#include "storage/lending.h"
#include "storage/poison.h"
#include "torch/core/allocator.h"
#include "torch/core/backend.h"
#include "torch/core/error.h"
#include "torch/core/thread_end.h"

namespace torch {

namespace {

constexpr int kClasses = 64;            // data of 64, 128, ... 4096 bytes
constexpr int kClassBytes = 64 * 1024;  // what one list may hold, so that a thread keeps at most 4 MB
constexpr uint16_t kLarge = 0xfffe;     // data from allocate()
constexpr uint16_t kForeign = 0xffff;   // data has its own deleter

struct FreeBlock {
  FreeBlock* next;
};
struct Lists {
  FreeBlock* head[kClasses];
  uint16_t count[kClasses];
};
thread_local Lists* lists = nullptr;  // null before first use and after the thread's end

constexpr size_t kLargestSmall = 64 * kClasses;
constexpr int class_of(size_t nbytes) { return nbytes ? int((nbytes - 1) / 64) : 0; }  // nbytes <= kLargestSmall
constexpr size_t block_bytes(int c) { return sizeof(Storage) + 64 * size_t(c + 1); }

// Frees what the lists hold when the thread ends. Storages that die later go straight to free().
thread_local bool lists_closed = false;
void close_lists() noexcept {
  Lists* held = std::exchange(lists, nullptr);
  lists_closed = true;
  for (FreeBlock* b : held->head)
    while (b) std::free(std::exchange(b, b->next));  // ASan's free() forgets what was poisoned
  delete held;
}
TORCH_NOINLINE void open_lists() {
  if (lists || lists_closed) return;
  lists = new Lists{};
  at_thread_end(close_lists);
}

inline Storage* in_block(void* memory, int c, size_t nbytes) noexcept {
  Storage* s = new (memory) Storage;
  s->block_class = uint16_t(c);
  s->data = s + 1;
  s->nbytes = nbytes;
  s->flags = Storage::kResizable;
  lend_block(s->data, nbytes, block_bytes(c) - sizeof(Storage));
  profile::memory(s->data, int64_t(nbytes));
  return s;
}

void free_on_device(Storage* s) noexcept {
  if (s->data) find_backend(s->device.type)->free(s->data, s->nbytes, s->device);
}

[[noreturn]] TORCH_NOINLINE void out_of_memory(size_t nbytes) {
  throw_error(ErrorKind::OutOfMemory, message("not enough memory: tried to allocate ", nbytes, " bytes"));
}

}  // namespace

Storage* Storage::make(size_t nbytes, Device device) {
  if (TORCH_UNLIKELY(device.type != DeviceType::CPU)) {
    const bool has_memory = device.type != DeviceType::Meta;
    if (has_memory) backend_of("empty", device);
    StorageRef s = StorageRef::steal(adopt(nullptr, nbytes, nullptr, nullptr));
    s->device = full_device(device);
    if (has_memory) {
      if (nbytes) s->data = on_device::allocate("empty", nbytes, s->device);
      s->deleter = free_on_device;
      s->flags = kResizable;
    }
    return s.release();
  }
  if (TORCH_LIKELY(nbytes <= kLargestSmall)) {
    const int c = class_of(nbytes);
    Lists* l = lists;
    if (TORCH_LIKELY(l && l->head[c])) {
      FreeBlock* b = l->head[c];
      l->head[c] = b->next;
      --l->count[c];
      return in_block(b, c, nbytes);
    }
    if (!l) open_lists();
    void* memory = std::aligned_alloc(64, block_bytes(c));
    if (!memory) out_of_memory(nbytes);
    return in_block(memory, c, nbytes);
  }
  void* data = allocate(nbytes);  // throws OutOfMemory
  Storage* s = adopt(data, nbytes, nullptr, nullptr);
  s->block_class = kLarge;
  s->flags = kResizable;
  profile::memory(data, int64_t(nbytes));
  return s;
}

Storage* Storage::adopt(void* data, size_t nbytes, void (*deleter)(Storage*) noexcept, void* context) {
  void* memory = std::aligned_alloc(64, sizeof(Storage));
  if (!memory) out_of_memory(sizeof(Storage));
  Storage* s = new (memory) Storage;
  s->block_class = kForeign;
  s->data = data;
  s->nbytes = nbytes;
  s->deleter = deleter;
  s->context = context;
  return s;
}

namespace {
// Gives the data back, leaving the header.
void free_data(Storage* s) noexcept {
  if (s->block_class == kLarge) {
    profile::memory(s->data, -int64_t(s->nbytes));
    deallocate(s->data, s->nbytes);
  } else if (s->deleter) {  // foreign, or a small one whose data was replaced
    s->deleter(s);
  }
}
}  // namespace

void Storage::replace(void* new_data, size_t bytes, void (*new_deleter)(Storage*) noexcept, void* new_context) {
  const bool in_block = block_class < kClasses && !deleter;  // lives as long as the header
  if (!in_block && is_lent(this)) {
    StorageRef old = StorageRef::steal(adopt(data, nbytes, deleter, context));
    if (block_class == kLarge) old->block_class = kLarge;
    keep_until_given_back(this, std::move(old));
  } else {
    if (in_block) profile::memory(data, -int64_t(nbytes));
    free_data(this);
  }
  if (block_class == kLarge) block_class = kForeign;
  data = new_data;
  nbytes = bytes;
  deleter = new_deleter;
  context = new_context;
}

void Storage::resize(size_t bytes) {
  TORCH_CHECK(flags & kResizable,
              "resize_: this storage does not own its memory (it comes from NumPy, a file or another process); clone() "
              "it first");
  TORCH_CHECK(!is_lent(this),
              "resize_: this memory is held by an array or a buffer of others (NumPy, memoryview, DLPack) and must not "
              "move; clone() the tensor or drop the array first");
  if (device.type == DeviceType::Meta) {
    nbytes = bytes;
    return;
  }
  if (device.type != DeviceType::CPU) {
    void* fresh = bytes ? on_device::allocate("resize_", bytes, device) : nullptr;
    const size_t common = bytes < nbytes ? bytes : nbytes;
    if (common) on_device::copy("resize_", fresh, device, data, device, common);
    return replace(fresh, bytes, free_on_device, nullptr);
  }
  void* fresh = allocate(bytes ? bytes : 1);
  copy_bytes(fresh, data, bytes < nbytes ? bytes : nbytes);
  struct Large {
    static void free(Storage* s) noexcept {
      profile::memory(s->data, -int64_t(s->nbytes));
      deallocate(s->data, s->nbytes ? s->nbytes : 1);
    }
  };
  profile::memory(fresh, int64_t(bytes));
  replace(fresh, bytes, &Large::free, nullptr);
}

void (*release_storage_object)(Storage*) noexcept = nullptr;

void Storage::destroy(Storage* s) noexcept {
  if (TORCH_UNLIKELY(s->flags & kOwnsPyobj)) return release_storage_object(s);
  int c = s->block_class;
  if (TORCH_LIKELY(c < kClasses)) {
    if (TORCH_UNLIKELY(s->deleter != nullptr))
      s->deleter(s);  // its data was replaced
    else
      profile::memory(s->data, -int64_t(s->nbytes));
    Lists* l = lists;
    if (TORCH_LIKELY(l && l->count[c] < kClassBytes / (64 * (c + 1)))) {
      FreeBlock* b = reinterpret_cast<FreeBlock*>(s);
      b->next = l->head[c];
      l->head[c] = b;
      ++l->count[c];
      poison(s + 1, block_bytes(c) - sizeof(Storage));
      return;
    }
    unpoison(s + 1, block_bytes(c) - sizeof(Storage));
    std::free(s);
    return;
  }
  free_data(s);
  std::free(s);
}

}  // namespace torch
