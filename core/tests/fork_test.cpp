// A forked child computes, whatever the parent's pool did at that moment.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "torch/core/pool.h"

using namespace torch;

namespace {

int64_t sum_in_parallel() {
  std::atomic<int64_t> total{0};
  parallel_run(64, [&](int64_t i) { total.fetch_add(i); });
  return total.load();
}

// Exit status of a child that runs f: 0 when f returned true; killed by SIGALRM when it hangs.
template <class F>
bool child_succeeds(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void a_child_computes_after_the_parent_did() {
  set_num_threads(3);
  CHECK_EQ(sum_in_parallel(), 2016);
  CHECK(child_succeeds([] { return sum_in_parallel() == 2016 && num_threads() == 3; }));
  CHECK_EQ(sum_in_parallel(), 2016);
}

void a_grandchild_computes() {
  CHECK(child_succeeds(
      [] { return sum_in_parallel() == 2016 && child_succeeds([] { return sum_in_parallel() == 2016; }); }));
}

void a_child_computes_when_another_thread_was_in_a_region() {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) sum_in_parallel();
  });
  for (int round = 0; round < 30; ++round) CHECK(child_succeeds([] { return sum_in_parallel() == 2016; }));
  stop = true;
  busy.join();
}

void a_fork_inside_a_task_does_not_hang() {
  set_num_threads(2);
  pid_t child = -1;
  const auto self = std::this_thread::get_id();
  bool in_child = false;
  std::string text;
  try {
    parallel_run(4, [&](int64_t) {
      if (std::this_thread::get_id() == self && child == -1) {
        child = fork();
        if (child == 0) {
          alarm(20);
          in_child = true;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  } catch (const Error& error) {
    text = error.what();
  }
  if (in_child) _exit(text.find("forked inside a parallel region") != std::string::npos ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(sum_in_parallel(), 2016);
}

}  // namespace

int main() {
  RUN(a_child_computes_after_the_parent_did);
  RUN(a_grandchild_computes);
  RUN(a_child_computes_when_another_thread_was_in_a_region);
  RUN(a_fork_inside_a_task_does_not_hang);
  return test::result();
}
