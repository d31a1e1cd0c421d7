// Memory in other hands: a NumPy array, a memoryview or a DLPack tensor over a storage's data. It does not move while
// it is lent, whatever happens to the tensors.
#pragma once
#include "torch/core/storage.h"

namespace torch {

// Holds the storage and its data until as many calls of give_back, from any thread.
TORCH_API void lend(Storage*);
TORCH_API void give_back(Storage*) noexcept;
TORCH_API bool is_lent(Storage*) noexcept;
// Keeps memory that the storage had and was lent with until all is given back.
void keep_until_given_back(Storage*, StorageRef old);

}  // namespace torch
