// Runs a test program once for each instruction set level of this processor. A process finds its level when the library
// is loaded, so each gets one that starts anew.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "torch/core/cpu.h"

namespace torch::test {

inline int at_every_level(int (*all_tests)()) {
  const char* const pinned = std::getenv("TORCH_CPU_LEVEL");
  const CpuLevel most = detected_cpu_level();
  if ((pinned && *pinned) || most == CpuLevel::Generic) return all_tests();
  int failed = 0;
  for (int level = int(most); level > int(CpuLevel::Generic); level--) {
    const char* const name = cpu_level_name(CpuLevel(level));
    const pid_t child = fork();
    if (child == 0) {
      setenv("TORCH_CPU_LEVEL", name, 1);
      execl("/proc/self/exe", "test", nullptr);
      _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status) std::fprintf(stderr, "failed at level %s\n", name);
    failed |= status != 0;
  }
  return failed;
}

}  // namespace torch::test
