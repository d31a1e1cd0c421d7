// A kernel that takes a while: what programs put into a stream to see that others do not wait for it.
#pragma once
#include <cstdint>

#include "cuda/runtime.h"

namespace torch::cuda {

// In the stream, for so many clocks of a multiprocessor; of the host's nanoseconds where an execution layer runs it.
void sleep(const Stream& stream, int64_t clocks);

}  // namespace torch::cuda
