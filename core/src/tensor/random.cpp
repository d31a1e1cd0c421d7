#include "torch/core/random.h"

#include <mutex>
#include <random>

#include "cpu/random_kernels.h"
#include "dispatch/work.h"
#include "kernels/philox_counter.h"

namespace torch {

const RandomKernels& random_kernels() { return work<RandomKernels>.on_cpu(); }

uint64_t Generator::seed_from_system() {
  std::random_device device;
  // 53 bits: the seed survives a trip through a double.
  const uint64_t seed = ((uint64_t(device()) << 32) | device()) & ((uint64_t(1) << 53) - 1);
  set_seed(seed);
  return seed;
}

Generator& default_generator() noexcept {
  static Generator* const generator = new Generator;  // outlives every static object
  return *generator;
}

namespace {
std::mutex seeding_mutex;
Seeding seeding;
}  // namespace

Seeding last_seeding() noexcept {
  const std::lock_guard lock(seeding_mutex);
  return seeding;
}
void seed_all_devices(uint64_t seed) noexcept {
  const std::lock_guard lock(seeding_mutex);
  seeding = {seeding.count + 1, seed};
  default_generator().set_seed(seed);
}

void philox(const RandomStream& stream, uint64_t index, uint32_t draw, uint32_t out[4]) noexcept {
  philox_counter(stream, index, draw, out);
}

}  // namespace torch
