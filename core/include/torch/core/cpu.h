// What the processor offers and which set of kernels serves it. Every kernel source is compiled once per level; the
// level is found once, from CPUID and from what the operating system saves on a context switch, or pinned by the
// environment variable TORCH_CPU_LEVEL=v2|v3|v4.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "torch/core/macros.h"

namespace torch {

// The x86-64 psABI levels: V2 ends with SSE4.2, V3 adds AVX2, FMA, F16C and BMI, V4 adds AVX512 F, BW, CD, DQ and VL.
// Generic is every other processor.
enum class CpuLevel : uint8_t { Generic, V2, V3, V4 };

// The level in force. Throws ErrorKind::Value when TORCH_CPU_LEVEL names no level, or one that this processor lacks.
TORCH_API CpuLevel cpu_level();
TORCH_API CpuLevel detected_cpu_level() noexcept;  // the highest one, TORCH_CPU_LEVEL or not
TORCH_API const char* cpu_level_name(CpuLevel level) noexcept;

struct CpuFeatures {
  bool sse42, popcnt, avx, avx2, fma, f16c, bmi, bmi2, lzcnt, movbe;
  bool avx512f, avx512bw, avx512cd, avx512dq, avx512vl, avx512_vnni, avx512_bf16, avx512_fp16;
  bool amx_tile, amx_bf16, amx_int8;  // the tiles' state is asked of the system by the kernels that use it
};
TORCH_API const CpuFeatures& cpu_features() noexcept;
TORCH_API std::vector<std::string> cpu_feature_names();  // those that are there, for torch.doctor
TORCH_API std::string cpu_model_name();

// Processors this process may use: the affinity mask, cut by the quota of its control groups (v1 and v2). At least 1.
TORCH_API int available_cpus() noexcept;

// Whether this thread takes denormal numbers for zero, as argument and as result. The pool's threads do as the one that
// gives them work, so that results do not depend on the number of threads. False where the processor cannot be told.
TORCH_API bool flushes_denormals() noexcept;
TORCH_API bool flush_denormals(bool flush) noexcept;

// The variant of a kernel for the level in force: pick_level<Fn>(generic, v2, v3, v4). Levels that are not compiled in
// are nullptr, and the next lower one that is there serves.
template <class Fn>
Fn pick_level(Fn generic, Fn v2, Fn v3, Fn v4) {
  const Fn variants[] = {generic, v2, v3, v4};
  for (int level = static_cast<int>(cpu_level()); level > 0; --level)
    if (variants[level]) return variants[level];
  return generic;
}

}  // namespace torch
