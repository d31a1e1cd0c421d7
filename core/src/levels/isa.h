// How host code reaches what is compiled once per instruction set: declare it for all levels, pick one when the library
// is loaded (work.cpp, and the registration of loops by formula).
//
//   TORCH_PER_ISA(extern const Staging staging_table;)
//   const Staging& table = *TORCH_PICK_ISA(staging_table);
#pragma once
#include "torch/core/cpu.h"

#if TORCH_X86
#define TORCH_PER_ISA(...) \
  namespace v2 {           \
  __VA_ARGS__              \
  }                        \
  namespace v3 {           \
  __VA_ARGS__              \
  }                        \
  namespace v4 {           \
  __VA_ARGS__              \
  }
#define TORCH_PICK_ISA(name) (::torch::pick_level<decltype(&v2::name)>(nullptr, &v2::name, &v3::name, &v4::name))
#else
#define TORCH_PER_ISA(...) \
  namespace generic {      \
  __VA_ARGS__              \
  }
#define TORCH_PICK_ISA(name) (&generic::name)
#endif
