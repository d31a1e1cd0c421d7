// What a device has for each block.
#pragma once
#include <cstddef>

namespace torch::cuda {

// Of shared memory, at most, where a kernel asks for it. Called under the GIL.
size_t shared_bytes_of_block(int device);

}  // namespace torch::cuda
