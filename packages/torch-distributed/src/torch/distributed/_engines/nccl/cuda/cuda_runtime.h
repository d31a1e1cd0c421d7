// All that NCCL's header asks of this one of CUDA: two types. With it the binding compiles without CUDA.
#pragma once
#include <stddef.h>
struct CUstream_st;
struct CUevent_st;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
