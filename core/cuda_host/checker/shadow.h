// What the checker knows of each byte that a kernel may touch, and the order in which threads touch it.
//
//   race            two threads touch one byte, one of them writes, not both by atomics, and nothing orders them: no
//                   barrier in between within a block, no __syncwarp within a warp, nothing at all between blocks
//   uninitialised   a read of device or shared memory that was not written
//   outside         memory that is not the device's: a pointer of the host, a freed tensor, beyond a tensor's end
//
// A race is found whether or not it showed in this run: what counts is the order that is missing.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "../src/watcher.h"
#include "cuda_host/control.h"
#include "traffic.h"

namespace cuda_host {

// Who touched a byte last, and when.
struct Stamp {
  uint32_t launch = 0, block = 0, barrier = 0;  // barriers are counted through all blocks
  uint32_t time = 0;                            // of the warp: how often its lanes met in order before
  uint32_t lanes = 0;
  uint16_t warp = 0;
  bool atomic = false, many_warps = false, many_blocks = false;
  const void* line = nullptr;  // an address of the program
};

class Shadow {
 public:
  void launch(const Launch&);
  void thread(uint32_t block, uint32_t thread);
  void barrier() { ++barrier_; }
  void warp_in_order(uint32_t warp, uint32_t mask);
  void last_block() { after_all_ = true; }
  void end_block();

  void add(void* p, size_t bytes, int device, bool shared);
  void remove(void* p);
  void written(void* p, size_t bytes);
  void copied(void* to, const void* from, size_t bytes);

  void touch(void* p, size_t bytes, bool store, bool atomic, const void* line);
  Requests& requests() { return requests_; }

 private:
  struct Byte {
    Stamp write, read;
    bool written = false;
  };
  struct Region {
    char* begin;
    size_t bytes;
    int device;
    bool shared;
    std::vector<Byte> of;
  };
  struct Warp {
    uint32_t time = 1;
    uint32_t seen[kWarp][kWarp] = {};  // [i][j]: up to when lane i knows what lane j did
  };

  Region* find(const void* p);
  Stamp now(bool atomic, const void* line) const;
  bool unordered(const Stamp& before, const Stamp& mine) const;
  void check_race(const Region&, Byte&, const Stamp& mine, bool store);
  static void note_read(Byte&, const Stamp& mine);
  void outside(const void* p, bool store, const void* line);
  void report(const char* kind, const std::string& text);
  std::string who(const Stamp&) const;

  std::map<char*, Region> regions_;
  Requests requests_;
  Region* last_ = nullptr;
  std::vector<Warp> warps_;
  std::string kernel_;
  uint32_t launch_ = 0, barrier_ = 1, block_ = 0, thread_ = 0;
  bool after_all_ = false, reported_ = false;
};

// "elementwise.cu:57", by way of addr2line; "?" where that is not installed.
std::string line_of(const void* address);
// Of the program itself and never written: tables, strings.
bool is_constant(const void* p);

}  // namespace cuda_host
