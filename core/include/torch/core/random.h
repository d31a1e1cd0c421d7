// Random numbers by counting: Philox4x32-10 turns (seed, position) into numbers, so a tensor's values depend on the
// seed and on what was drawn before, not on the number of threads, the memory layout or the device.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "torch/core/device.h"
#include "torch/core/macros.h"

namespace torch {

// Where a draw reads: a position in the sequence of one seed. A position is a group of 8 counters: 32 words of 32 bits.
struct RandomStream {
  uint64_t seed = 0, position = 0;
};
constexpr int64_t kWordsPerGroup = 32;

// Safe to use from several threads: each draw reserves its part of the sequence. A forked child goes on where the
// parent stood, as both do in PyTorch: give it another seed.
class TORCH_API Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  explicit Generator(uint64_t seed = kDefaultSeed, Device device = {}) noexcept : device_(device), seed_(seed) {}
  Generator(const Generator& o) noexcept : device_(o.device_), seed_(o.seed()), position_(o.position()) {}
  Generator& operator=(const Generator&) = delete;

  Device device() const noexcept { return device_; }
  uint64_t seed() const noexcept { return seed_.load(std::memory_order_relaxed); }
  uint64_t position() const noexcept { return position_.load(std::memory_order_relaxed); }
  void set_seed(uint64_t seed) noexcept { set_state({seed, 0}); }
  uint64_t seed_from_system();  // sets an unpredictable seed, and returns it
  RandomStream state() const noexcept { return {seed(), position()}; }
  void set_state(const RandomStream& s) noexcept {
    seed_.store(s.seed, std::memory_order_relaxed);
    position_.store(s.position, std::memory_order_relaxed);
  }
  // The next `words` words of the sequence are the caller's.
  RandomStream reserve(int64_t words) noexcept {
    const auto groups = static_cast<uint64_t>((words + kWordsPerGroup - 1) / kWordsPerGroup);
    return {seed(), position_.fetch_add(groups, std::memory_order_relaxed)};
  }

 private:
  const Device device_;
  std::atomic<uint64_t> seed_;
  std::atomic<uint64_t> position_{0};
};

TORCH_API Generator& default_generator() noexcept;

// How often all devices were given a seed together, and which one last: the backend of another device starts its
// generators there when it next hands one out.
struct Seeding {
  uint64_t count = 0, seed = Generator::kDefaultSeed;
};
TORCH_API Seeding last_seeding() noexcept;
TORCH_API void seed_all_devices(uint64_t seed) noexcept;

// Counter `index` of a stream, `draw` for the draw-th time: four words. Draw 0 is what reserve() hands out in order; an
// element that needs an unknown number of words takes draws 1, 2, ... of its own counter.
TORCH_API void philox(const RandomStream& stream, uint64_t index, uint32_t draw, uint32_t out[4]) noexcept;

}  // namespace torch
