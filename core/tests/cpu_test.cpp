#include "torch/core/cpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "check.h"

using namespace torch;

namespace {

// The level is fixed when the library is loaded, so each setting has a process of its own: this program again, which is
// told what to expect, a level or the text of an error.
void check_in_a_process(const char* value, const char* expected) {
  const pid_t child = fork();
  if (child == 0) {
    value ? setenv("TORCH_CPU_LEVEL", value, 1) : unsetenv("TORCH_CPU_LEVEL");
    execl("/proc/self/exe", "cpu_test", value ? value : "(unset)", expected, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void the_level_is_the_detected_one_unless_pinned() {
  check_in_a_process(nullptr, cpu_level_name(detected_cpu_level()));
  check_in_a_process("", cpu_level_name(detected_cpu_level()));
}

void every_lower_level_can_be_pinned() {
  for (CpuLevel level : {CpuLevel::V2, CpuLevel::V3, CpuLevel::V4})
    check_in_a_process(cpu_level_name(level), level <= detected_cpu_level() ? cpu_level_name(level) : "at most");
}

void an_unknown_level_is_named_in_the_error() { check_in_a_process("v5", "TORCH_CPU_LEVEL=v5: expected v2, v3 or v4"); }

void features_agree_with_the_level() {
  CHECK(detected_cpu_level() < CpuLevel::V3 || cpu_features().fma);
  CHECK(detected_cpu_level() < CpuLevel::V4 || cpu_features().avx512f);
  CHECK(detected_cpu_level() == CpuLevel::Generic || !cpu_feature_names().empty());
  CHECK(!cpu_model_name().empty());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) {
    const std::string expected = argv[2];
    test::run(
        [&] {
          if (expected.find(' ') == std::string::npos)
            CHECK(cpu_level_name(cpu_level()) == expected);
          else
            CHECK_THROWS(cpu_level(), Value, expected.c_str());
        },
        argv[1]);
    return test::result();
  }
  RUN(the_level_is_the_detected_one_unless_pinned);
  RUN(every_lower_level_can_be_pinned);
  RUN(an_unknown_level_is_named_in_the_error);
  RUN(features_agree_with_the_level);
  return test::result();
}
