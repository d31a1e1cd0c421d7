// One counter of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), for the host
// and for a thread of a GPU. kernels/philox.h computes many of them at once.
#pragma once
#include <cstdint>

#include "torch/core/random.h"

#ifndef TORCH_ANY
#define TORCH_ANY
#endif

namespace torch {

// Counter `index` of a stream, `draw` for the draw-th time.
TORCH_ANY inline void philox_counter(const RandomStream& stream, uint64_t index, uint32_t draw, uint32_t out[4]) {
  const uint64_t counter = stream.position * 8 + index;
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = draw, c3 = 0;
  uint32_t k0 = uint32_t(stream.seed), k1 = uint32_t(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53) * c0, p1 = uint64_t(0xCD9E8D57) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c1 = uint32_t(p1);
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

// Uniform numbers in (0, 1) of one element, which may need any number of them: two per draw of its counter.
class Uniforms {
 public:
  TORCH_ANY Uniforms(const RandomStream& stream, uint64_t index) : stream_(stream), index_(index) {}
  TORCH_ANY double operator()() {
    if (left_ == 0) {
      philox_counter(stream_, index_, ++draw_, words_);
      left_ = 2;
    }
    --left_;
    const uint64_t w = left_ ? (uint64_t(words_[3]) << 32) | words_[2] : (uint64_t(words_[1]) << 32) | words_[0];
    return (double(w >> 12) + 0.5) / double(uint64_t(1) << 52);
  }

 private:
  RandomStream stream_;
  uint64_t index_;
  uint32_t draw_ = 0, words_[4];
  int left_ = 0;
};

}  // namespace torch
