// CPUID and what the operating system saves of it, and the level of kernels that follows.
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/os.h"
#include "torch/core/cpu.h"
#include "torch/core/error.h"
#if TORCH_X86
#include <cpuid.h>
#endif

namespace torch {
namespace {

#if TORCH_X86
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) noexcept {
  Registers r;
  if (unsigned(__get_cpuid_max(leaf & 0x80000000u, nullptr)) >= leaf) __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
  return r;
}

bool bit(unsigned word, int index) noexcept { return (word >> index) & 1; }

unsigned long long saved_state() noexcept {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<unsigned long long>(high) << 32) | low;
}

// Intel SDM volume 2, CPUID; a feature counts only when the system saves its registers (XCR0).
CpuFeatures detect() noexcept {
  CpuFeatures f{};
  const Registers one = cpuid(1), seven = cpuid(7), seven1 = cpuid(7, 1), extended = cpuid(0x80000001u);
  const unsigned long long state = bit(one.c, 27) ? saved_state() : 0;
  const bool ymm = (state & 0x6) == 0x6, zmm = ymm && (state & 0xe0) == 0xe0, tiles = (state & 0x60000) == 0x60000;
  f.sse42 = bit(one.c, 20) && bit(one.c, 19) && bit(one.c, 9) && bit(one.c, 13);
  f.popcnt = bit(one.c, 23);
  f.avx = ymm && bit(one.c, 28);
  f.avx2 = ymm && bit(seven.b, 5);
  f.fma = ymm && bit(one.c, 12);
  f.f16c = ymm && bit(one.c, 29);
  f.movbe = bit(one.c, 22);
  f.bmi = bit(seven.b, 3);
  f.bmi2 = bit(seven.b, 8);
  f.lzcnt = bit(extended.c, 5);
  f.avx512f = zmm && bit(seven.b, 16);
  f.avx512dq = zmm && bit(seven.b, 17);
  f.avx512cd = zmm && bit(seven.b, 28);
  f.avx512bw = zmm && bit(seven.b, 30);
  f.avx512vl = zmm && bit(seven.b, 31);
  f.avx512_vnni = zmm && bit(seven.c, 11);
  f.avx512_bf16 = zmm && bit(seven1.a, 5);
  f.avx512_fp16 = zmm && bit(seven.d, 23);
  f.amx_bf16 = tiles && bit(seven.d, 22);
  f.amx_tile = tiles && bit(seven.d, 24);
  f.amx_int8 = tiles && bit(seven.d, 25);
  return f;
}

CpuLevel detect_level(const CpuFeatures& f) noexcept {
  if (!f.sse42 || !f.popcnt) return CpuLevel::Generic;
  if (!(f.avx && f.avx2 && f.fma && f.f16c && f.bmi && f.bmi2 && f.lzcnt && f.movbe)) return CpuLevel::V2;
  if (!(f.avx512f && f.avx512bw && f.avx512cd && f.avx512dq && f.avx512vl)) return CpuLevel::V3;
  return CpuLevel::V4;
}
#else
CpuFeatures detect() noexcept { return {}; }
CpuLevel detect_level(const CpuFeatures&) noexcept { return CpuLevel::Generic; }
#endif

#ifndef TORCH_LOWEST_LEVEL
#define TORCH_LOWEST_LEVEL (TORCH_X86 ? CpuLevel::V2 : CpuLevel::Generic)
#endif
constexpr CpuLevel kLowest = TORCH_LOWEST_LEVEL;  // of those that the build has kernels for

CpuLevel level_in_force() {
  const CpuLevel detected = detected_cpu_level();
  TORCH_CHECK(detected >= kLowest, "this build has kernels for processors from ", cpu_level_name(kLowest),
              " on (TORCH_LEVELS), and this one (", cpu_model_name(), ") is ", cpu_level_name(detected));
  const char* text = std::getenv("TORCH_CPU_LEVEL");
  if (!text || !*text) return detected;
  for (CpuLevel level : {CpuLevel::Generic, CpuLevel::V2, CpuLevel::V3, CpuLevel::V4}) {
    if (std::strcmp(text, cpu_level_name(level)) != 0) continue;
    TORCH_CHECK_VALUE(level <= detected, "TORCH_CPU_LEVEL=", text, ": this processor (", cpu_model_name(),
                      ") supports ", cpu_level_name(detected), " at most; unset the variable or set that level");
    TORCH_CHECK_VALUE(level >= kLowest, "TORCH_CPU_LEVEL=", text, ": this build has kernels from ",
                      cpu_level_name(kLowest), " on (TORCH_LEVELS)");
    return level;
  }
  throw_error(ErrorKind::Value, message("TORCH_CPU_LEVEL=", text, ": expected v2, v3 or v4"));
}

}  // namespace

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

CpuLevel detected_cpu_level() noexcept {
  static const CpuLevel level = detect_level(cpu_features());
  return level;
}

CpuLevel cpu_level() {
  static const CpuLevel level = level_in_force();
  return level;
}

const char* cpu_level_name(CpuLevel level) noexcept {
  constexpr const char* kNames[] = {"generic", "v2", "v3", "v4"};
  return kNames[static_cast<int>(level)];
}

std::vector<std::string> cpu_feature_names() {
  const CpuFeatures& f = cpu_features();
  const struct {
    bool there;
    const char* name;
  } rows[] = {
      {f.sse42, "sse4.2"},
      {f.popcnt, "popcnt"},
      {f.avx, "avx"},
      {f.avx2, "avx2"},
      {f.fma, "fma"},
      {f.f16c, "f16c"},
      {f.bmi, "bmi"},
      {f.bmi2, "bmi2"},
      {f.lzcnt, "lzcnt"},
      {f.movbe, "movbe"},
      {f.avx512f, "avx512f"},
      {f.avx512bw, "avx512bw"},
      {f.avx512cd, "avx512cd"},
      {f.avx512dq, "avx512dq"},
      {f.avx512vl, "avx512vl"},
      {f.avx512_vnni, "avx512_vnni"},
      {f.avx512_bf16, "avx512_bf16"},
      {f.avx512_fp16, "avx512_fp16"},
      {f.amx_tile, "amx_tile"},
      {f.amx_bf16, "amx_bf16"},
      {f.amx_int8, "amx_int8"},
  };
  std::vector<std::string> names;
  for (const auto& row : rows)
    if (row.there) names.emplace_back(row.name);
  return names;
}

std::string cpu_model_name() { return os::processor_name(); }

}  // namespace torch
