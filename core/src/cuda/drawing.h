// Where a kernel's draws begin: at a position of the host's, or, in a graph, from where the generator stands when that
// is launched (graph.h).
#pragma once
#include "cuda/graph.h"
#include "cuda/kernel.h"

namespace torch::cuda {

__device__ __forceinline__ RandomStream begin_of(const Drawing& drawing) {
  if (!drawing.start) return drawing.stream;
  return {drawing.start->seed, drawing.start->position + drawing.stream.position};
}

}  // namespace torch::cuda
