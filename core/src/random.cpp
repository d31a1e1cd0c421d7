#include "torch/core/random.h"

#include <random>

#include "random_kernels.h"
#include "work.h"

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

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), Philox4x32-10.
void philox(const RandomStream& stream, uint64_t index, uint32_t draw, uint32_t out[4]) noexcept {
  const uint64_t counter = stream.position * 8 + index;
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), draw, 0};
  uint32_t k0 = uint32_t(stream.seed), k1 = uint32_t(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    const uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1,
                              uint32_t(p0)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (int i = 0; i < 4; ++i) out[i] = c[i];
}

}  // namespace torch
