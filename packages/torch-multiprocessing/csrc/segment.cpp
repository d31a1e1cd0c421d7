#include "segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace torch::shared {

namespace {

constexpr uint64_t kStep = 64 << 20;

uint64_t bit_of(int slot) { return uint64_t(1) << (slot % 64); }

struct flock byte_lock(short type, int slot) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::string system_error(const std::string& what, int error) { return what + ": " + std::strerror(error); }

Segment::Segment(int fd, uint64_t size) : size_(size), fd_(fd) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED)
    throw std::runtime_error(
        system_error("shared memory: cannot map a segment of " + std::to_string(size) + " bytes", errno));
  base_ = base;
}

Segment::~Segment() {
  if (base_) munmap(base_, size_);
  if (fd_ >= 0) close(fd_);
}

Segment* Segment::create(int fd, uint64_t id, uint64_t size) {
  uint64_t data_start = (sizeof(Header) + kMaxEntries * sizeof(Entry) + kPage - 1) / kPage * kPage;
  if (size < data_start + (1 << 20))
    throw std::runtime_error("shared memory: a segment of " + std::to_string(size) + " bytes is too small");
  if (ftruncate(fd, off_t(size)) < 0)
    throw std::runtime_error(
        system_error("shared memory: cannot make a segment of " + std::to_string(size) + " bytes", errno));
  auto* segment = new Segment(fd, size);
  try {
    segment->allocate_pages(0, kPage);
    Header& h = segment->header();
    h.id = id;
    h.size = size;
    h.data_start = data_start;
    h.magic = kMagic;
    segment->claim_slot(true);
  } catch (...) {
    segment->fd_ = -1;  // still the caller's
    delete segment;
    throw;
  }
  return segment;
}

Segment* Segment::attach(int fd, uint64_t id) {
  Header head;
  static_assert(offsetof(Header, entries) == 32);
  if (pread(fd, static_cast<void*>(&head), 32, 0) != 32 || head.magic != kMagic || head.id != id)
    throw std::runtime_error(
        "shared memory: the segment is gone: the process that made this tensor, or the one that started it, has ended");
  struct stat facts;
  if (fstat(fd, &facts) < 0 || uint64_t(facts.st_size) < head.size)
    throw std::runtime_error("shared memory: the segment was cut short");
  auto* segment = new Segment(fd, head.size);
  try {
    segment->claim_slot();
  } catch (...) {
    segment->fd_ = -1;
    delete segment;
    throw;
  }
  return segment;
}

Outline outline_of(int fd) {
  Header head;
  static_assert(offsetof(Header, in_transit) == 36);
  auto wish = byte_lock(F_WRLCK, 0);
  bool made = pread(fd, static_cast<void*>(&head), 40, 0) == 40 && head.magic == kMagic;
  bool alive = fcntl(fd, F_GETLK, &wish) == 0 && wish.l_type != F_UNLCK;
  return {made, alive, made ? head.in_transit.load() : 0};
}

bool Segment::lock(int slot) const {
  auto wish = byte_lock(F_WRLCK, slot);
  return fcntl(fd_, F_SETLK, &wish) == 0;
}
void Segment::unlock(int slot) const {
  auto wish = byte_lock(F_UNLCK, slot);
  fcntl(fd_, F_SETLK, &wish);
}
bool Segment::slot_is_alive(int slot) const {
  if (slot == slot_) return true;
  auto wish = byte_lock(F_WRLCK, slot);
  return fcntl(fd_, F_GETLK, &wish) == 0 && wish.l_type != F_UNLCK;
}

void Segment::claim_slot(bool owner) {
  slot_ = -1;
  for (int slot = owner ? 0 : 1; slot < (owner ? 1 : kDispatchKeys); ++slot) {
    if (!lock(slot)) continue;
    forget_holder(slot);  // a dead process may have left references under this number
    slot_ = slot;
    header().used[slot].store(1);
    return;
  }
  throw std::runtime_error("shared memory: " + std::to_string(kDispatchKeys - 1) +
                           " processes already share this one's tensors, and no more can");
}

uint32_t Segment::clean_slot(int slot) const {
  if (!header().used[slot].load() || slot == slot_ || !lock(slot)) return 0;
  uint32_t freed = forget_holder(slot);
  unlock(slot);
  return freed;
}

uint32_t Segment::forget_holder(int slot) const {
  Header& h = header();
  if (!h.used[slot].exchange(0)) return 0;
  uint32_t forgotten = 0;
  uint64_t bit = bit_of(slot);
  for (uint32_t i = 0, n = h.entries.load(); i < n; ++i) {
    Entry& e = entry(i);
    if (!(e.holders[slot / 64].load(std::memory_order_relaxed) & bit)) continue;
    if (!(e.holders[slot / 64].fetch_and(~bit) & bit)) continue;
    if (e.count.load() == kPunching) {  // it died while it gave the pages back
      e.punched.store(1);
      e.count.store(0);
    } else {
      release(e);
    }
    ++forgotten;
  }
  return forgotten;
}

void Segment::hold(uint32_t i) const {
  if (slot_ >= 0) entry(i).holders[slot_ / 64].fetch_or(bit_of(slot_));
}

bool Segment::is_elsewhere(uint32_t i) const {
  const Entry& e = entry(i);
  if (e.in_transit.load() > 0) return true;
  for (int slot = 0; slot < kDispatchKeys; ++slot)
    if (slot != slot_ && (e.holders[slot / 64].load() & bit_of(slot)) && slot_is_alive(slot)) return true;
  return false;
}

void Segment::drop(uint32_t i, uint64_t cache_limit, bool as_holder) const {
  Entry& e = entry(i);
  Header& h = header();
  // Each step by itself leaves the segment right if the process is killed behind it, or at worst keeps the block.
  auto forget = [&] {
    if (as_holder && slot_ >= 0) e.holders[slot_ / 64].fetch_and(~bit_of(slot_));
  };
  if (e.size > kLarge && h.idle_bytes.load(std::memory_order_relaxed) + int64_t(e.size) > int64_t(cache_limit)) {
    uint32_t last = 1;
    if (e.count.compare_exchange_strong(last, kPunching)) {
      free_pages(e.offset, e.size);
      e.punched.store(1);
      forget();
      e.count.store(0);
      return;
    }
  }
  forget();
  release(e);
}

void Segment::release(Entry& e) const {
  uint64_t size = e.size;  // the entry may be another block's once its count is zero
  if (e.count.fetch_sub(1) == 1 && size > kLarge)
    header().idle_bytes.fetch_add(int64_t(size), std::memory_order_relaxed);
}

void Segment::send(uint32_t i) const {
  entry(i).count.fetch_add(1);
  entry(i).in_transit.fetch_add(1);
  header().in_transit.fetch_add(1);
}

bool Segment::receive(uint32_t i, uint32_t generation, bool already_held) const {
  if (i >= header().entries.load()) return false;
  Entry& e = entry(i);
  if (e.generation.load() != generation) return false;
  uint32_t carried = e.in_transit.load();
  do {
    if (carried == 0) return false;
  } while (!e.in_transit.compare_exchange_weak(carried, carried - 1));
  header().in_transit.fetch_sub(1);
  if (already_held)
    e.count.fetch_sub(1);
  else
    hold(i);
  return true;
}

void Segment::allocate_pages(uint64_t offset, uint64_t size) const {
  // Without this a full file system shows as SIGBUS at some later write.
  int error = 0;
  for (uint64_t done = 0; done < size && error == 0; done += kStep)  // a signal undoes no more than one step
    do {
      error = posix_fallocate(fd_, off_t(offset + done), off_t(std::min(kStep, size - done)));
    } while (error == EINTR);
  if (error == 0) {
#ifdef MADV_POPULATE_WRITE
    // All pages into this process's tables at once: 64 MB take 22 ms so, and 31 when each first write faults.
    uint64_t begin = offset / kPage * kPage;
    madvise(at(begin), offset + size - begin, MADV_POPULATE_WRITE);
#endif
    return;
  }
  struct statvfs room{};
  std::string free = fstatvfs(fd_, &room) == 0 && room.f_blocks
                         ? std::to_string(uint64_t(room.f_bavail) * room.f_frsize) + " bytes are free there"
                         : "the system has no memory left";
  throw std::runtime_error(
      system_error("shared memory: no room for " + std::to_string(size) + " bytes; " + free, error));
}

void Segment::free_pages(uint64_t offset, uint64_t size) const noexcept {
  uint64_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + size) / kPage * kPage;
  if (end > begin) fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(begin), off_t(end - begin));
}

}  // namespace torch::shared
