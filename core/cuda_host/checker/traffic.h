// How kernels touch memory, line by line: what a warp's lanes ask for together is a request, which costs a device
// memory as many sectors of 32 bytes as it touches, and shared memory as many passes as its busiest bank has words.
//
// Lanes run one after the other here, so that the n-th access of each lane at a line counts as one request: as on a
// GPU, where lanes that do the same go together. What goes on where the lane's last access ended, by another
// instruction for the same line of source and within the same 16 bytes, belongs to that: a C++ compiler takes what is
// loaded at once to pieces.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "../src/watcher.h"
#include "cuda_host/control.h"

namespace cuda_host {

class Requests {
 public:
  void touch(const std::string& kernel, uint32_t warp, uint32_t lane, const void* p, size_t bytes, bool store,
             bool shared, const void* line);
  void end_block();
  std::vector<Traffic> all() const;
  void clear() { kernels_.clear(), open_.clear(), last_.clear(); }

 private:
  struct Access {
    uintptr_t at;
    uint32_t lane, bytes;
  };
  struct Place {  // of one warp
    std::array<uint32_t, kWarp> times{};
    std::vector<std::vector<Access>> requests;
  };
  struct Line {
    std::string kernel;
    const void* line;
    bool store, shared;
    auto operator<=>(const Line&) const = default;
  };
  struct Sum {
    int64_t requests = 0, parts = 0, least = 0;
  };
  struct Last {  // of a lane
    Place* place = nullptr;
    uint32_t time = 0, index = 0, source = 0;
    uintptr_t end = 0;
    const void* line = nullptr;
    bool store = false, shared = false;
  };
  uint32_t source_of(const void* line);
  static void count(const std::vector<Access>& request, bool shared, Sum&);

  std::map<std::pair<Line, uint32_t>, Place> open_;
  std::map<Line, Sum> kernels_;
  std::map<std::pair<uint32_t, uint32_t>, Last> last_;  // by warp and lane
  std::map<const void*, uint32_t> source_of_;
  std::map<std::string, uint32_t> sources_;
};

}  // namespace cuda_host
