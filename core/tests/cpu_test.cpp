#include "torch/core/cpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "check.h"

using namespace torch;

namespace {

// The level is fixed at first use, so each setting has a process of its own.
template <class F>
void with_level_variable(const char* value, F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    value ? setenv("TORCH_CPU_LEVEL", value, 1) : unsetenv("TORCH_CPU_LEVEL");
    test::failures = 0;
    test::run(f, value ? value : "(unset)");
    _exit(test::result());
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void the_level_is_the_detected_one_unless_pinned() {
  with_level_variable(nullptr, [] { CHECK(cpu_level() == detected_cpu_level()); });
  with_level_variable("", [] { CHECK(cpu_level() == detected_cpu_level()); });
}

void every_lower_level_can_be_pinned() {
  for (CpuLevel level : {CpuLevel::V2, CpuLevel::V3, CpuLevel::V4})
    if (level <= detected_cpu_level())
      with_level_variable(cpu_level_name(level), [level] { CHECK(cpu_level() == level); });
    else
      with_level_variable(cpu_level_name(level), [] { CHECK_THROWS(cpu_level(), Value, "at most"); });
}

void an_unknown_level_is_named_in_the_error() {
  with_level_variable("v5", [] { CHECK_THROWS(cpu_level(), Value, "TORCH_CPU_LEVEL=v5: expected v2, v3 or v4"); });
}

void features_agree_with_the_level() {
  CHECK(detected_cpu_level() < CpuLevel::V3 || cpu_features().fma);
  CHECK(detected_cpu_level() < CpuLevel::V4 || cpu_features().avx512f);
  CHECK(detected_cpu_level() == CpuLevel::Generic || !cpu_feature_names().empty());
  CHECK(!cpu_model_name().empty());
}

}  // namespace

int main() {
  RUN(the_level_is_the_detected_one_unless_pinned);
  RUN(every_lower_level_can_be_pinned);
  RUN(an_unknown_level_is_named_in_the_error);
  RUN(features_agree_with_the_level);
  return test::result();
}
