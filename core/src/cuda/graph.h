// Work that is recorded once and launched again as a whole: what streams are given between begin() and end() does not
// run but becomes a graph. Its memory comes from a pool of its own, which nothing else is given from as long as the
// graph lives, so that its kernels find their operands where they were.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/allocator.h"
#include "cuda/runtime.h"
#include "torch/core/random.h"

namespace torch::cuda {

// Within a capture, draws of a device begin where its generator stands when the graph is launched: replay() writes that
// to `start`, and kernels add the position that they were recorded with. Outside of captures `start` is null.
struct Drawing {
  const RandomStream* start = nullptr;
  RandomStream stream;
};
// `groups` are the positions that are drawn from the stream. RuntimeError for another generator than the device's own
// in a capture; a capture with positions that nobody asked for here is refused at its end, for their draws would
// repeat.
Drawing drawing_of(const RandomStream& stream, int device, uint64_t groups);

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // On the current stream, which must not be the default one. `pool` may be that of another graph that is never
  // launched at the same time; {0, 0} asks for a new one.
  void begin(PoolId pool, cudaStreamCaptureMode mode);
  void end();
  void replay();  // on the current stream
  void reset();
  PoolId pool() const;
  bool is_captured() const { return executable_ != nullptr; }
  // The graph in the language of Graphviz; only with keep().
  void keep() { keep_ = true; }
  void dump(const std::string& path) const;

 private:
  int device_ = -1;
  Stream stream_;  // that captures
  unsigned long long capture_ = 0;
  PoolId pool_{};
  bool has_pool_ = false, keep_ = false;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  RandomStream* start_ = nullptr;  // on the device
  RandomStream before_;            // where the generator stood
  uint64_t drawn_ = 0;             // positions that a launch uses up
};

}  // namespace torch::cuda
