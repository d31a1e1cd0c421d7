// What allocator.cpp asks of the allocator that took its place (foreign_allocator.h).
#pragma once
#include <cstddef>

#include "cuda/foreign_allocator.h"

namespace torch::cuda {

bool is_foreign() noexcept;
void set_foreign(const ForeignAllocator& allocator);
void* foreign_allocate(size_t nbytes, int device, cudaStream_t stream);
void foreign_release(void* data);
int foreign_device_of(const void* data);
void foreign_record_stream(void* data, const Stream& stream);

}  // namespace torch::cuda
