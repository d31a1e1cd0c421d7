// Shared memory of a block, for which C++ has no word.
#pragma once
#include "cuda_host/model.h"

#define TORCH_SHARED(TYPE, NAME, ...)      \
  static char NAME##_key;                  \
  using NAME##_type = TYPE __VA_ARGS__;    \
  auto& NAME = *static_cast<NAME##_type*>( \
      ::cuda_host::shared_block(&NAME##_key, sizeof(NAME##_type), alignof(NAME##_type), ::cuda_host::Line::current()))
#define TORCH_DYNAMIC_SHARED(TYPE, NAME) \
  TYPE* NAME = static_cast<TYPE*>(::cuda_host::dynamic_shared(::cuda_host::Line::current()))
