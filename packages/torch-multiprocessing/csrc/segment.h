// The layout of a shared segment, and the operations on it that any process may do without a lock.
//
//   [Header][Entry 0 .. max_entries)[data]
//
// One process, the owner, allocates: entry i says where block i lies. Other processes attach, and from then on all keep
// count together: `count` is the number of processes that hold the block plus the number of messages that carry it.
// The owner may use a block again when its count is zero. A process that holds a block has its bit set in `holders`, so
// that the references of a killed process can be taken back.
//
// Each attached process owns a slot: byte i of the file is locked by fcntl. The kernel drops the lock when the process
// ends, however it ends, and that is how the owner knows.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace torch::shared {

constexpr uint64_t kMagic = 0x31616E6572416854;  // "ThArena1"
constexpr int kDispatchKeys = 256;
constexpr uint32_t kMaxEntries = 1u << 20;
constexpr uint32_t kPunching = 1u << 31;  // count of a block whose pages its last holder is giving back
constexpr size_t kPage = 4096;
constexpr uint64_t kLarge = 32 << 10;  // blocks above are whole pages, and their memory can be given back separately

struct Header {
  uint64_t magic;
  uint64_t id;    // random: tells this segment from another one behind a reused descriptor number
  uint64_t size;  // of the whole segment, most of it never backed by memory
  uint64_t data_start;
  std::atomic<uint32_t> entries;             // in use so far; entries beyond are zero
  std::atomic<uint32_t> in_transit;          // messages that carry blocks and have not been received
  std::atomic<int64_t> idle_bytes;           // of large blocks that are free and backed by memory; less after kills
  std::atomic<uint8_t> used[kDispatchKeys];  // slots that have ever held a reference since they were last cleaned
};

struct alignas(64) Entry {
  std::atomic<uint32_t> count;
  std::atomic<uint32_t> in_transit;
  std::atomic<uint32_t> generation;  // rises with each use, so that a handle of an earlier use is refused
  std::atomic<uint32_t> punched;     // the pages are gone; they come back as zeros
  uint64_t offset;
  uint64_t size;
  std::atomic<uint64_t> holders[kDispatchKeys / 64];
};
static_assert(sizeof(Entry) == 64);

// A mapping of a segment, with this process's slot in it.
class Segment {
 public:
  // Creates the segment in `fd` (an empty memfd or shared-memory file) or attaches to the one that is in it. Throws
  // std::runtime_error. The descriptor is the Segment's from then on: closing any descriptor of the file drops the
  // process's fcntl locks, so no one else may.
  static Segment* create(int fd, uint64_t id, uint64_t size);
  static Segment* attach(int fd, uint64_t id);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Header& header() const { return *static_cast<Header*>(base_); }
  Entry& entry(uint32_t i) const { return reinterpret_cast<Entry*>(static_cast<char*>(base_) + sizeof(Header))[i]; }
  char* at(uint64_t offset) const { return static_cast<char*>(base_) + offset; }
  int fd() const { return fd_; }
  int slot() const { return slot_; }
  uint64_t size() const { return size_; }

  // This process's first reference to a block that it has just made or received, and its last one going.
  void hold(uint32_t i) const;
  void drop(uint32_t i, uint64_t cache_limit, bool as_holder = true) const;
  // A message takes up the block; a message gave it up. `receive` is false when no message carries it.
  void send(uint32_t i) const;
  bool receive(uint32_t i, uint32_t generation, bool already_held) const;

  // Whether a message or another process that runs has the block.
  bool is_elsewhere(uint32_t i) const;

  // After fork: the child takes a slot of its own. Slot 0 is the owner's, which no one takes when it has ended: a lock
  // on it says that the owner runs.
  void claim_slot(bool owner = false);  // throws when none is left
  bool slot_is_alive(int slot) const;
  // Takes back what a dead process held. Returns the number of blocks. Safe against a process that takes the slot.
  uint32_t clean_slot(int slot) const;

  void allocate_pages(uint64_t offset, uint64_t size) const;  // throws when there is no memory for them
  void free_pages(uint64_t offset, uint64_t size) const noexcept;

 private:
  Segment(int fd, uint64_t size);
  bool lock(int slot) const;
  void unlock(int slot) const;
  uint32_t forget_holder(int slot) const;
  void release(Entry& e) const;  // one reference less

  void* base_ = nullptr;
  uint64_t size_;
  int fd_;
  int slot_ = -1;
};

// What a segment's file says without a mapping: whether an owner ever made it, whether it runs, what is under way.
struct Outline {
  bool made, owner_alive;
  uint32_t in_transit;
};
Outline outline_of(int fd);

std::string system_error(const std::string& what, int error);

}  // namespace torch::shared
