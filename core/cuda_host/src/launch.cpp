// A grid: its blocks one after the other, in the order of the seed.
#include <numeric>
#include <random>

#include "block.h"
#include "runtime.h"

namespace cuda_host {

void run_grid(const Launch& launch, const Body& body) {
  if (watcher.launch) watcher.launch(launch);
  const uint64_t blocks = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z, order = config().order;
  // Block i * step + start modulo their number; the step is coprime to it.
  uint64_t step = 1, start = 0;
  if (order && blocks > 1) {
    std::minstd_rand random(unsigned(order * 2654435761u + 1));
    start = random() % blocks;
    do step = random() % blocks;
    while (std::gcd(step, blocks) != 1);
  }
  Block& block = the_block();
  block.begin(launch, body, order ? order * 0x9E3779B97F4A7C15 + 1 : 0);
  for (uint64_t i = 0; i < blocks && !kernel_error(); ++i) {
    const uint64_t b = (i * step + start) % blocks;
    block.run({unsigned(b % launch.grid.x), unsigned(b / launch.grid.x % launch.grid.y),
               unsigned(b / launch.grid.x / launch.grid.y)});
  }
  block.end();
}

}  // namespace cuda_host
