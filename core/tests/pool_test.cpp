#include "torch/core/pool.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"
#include "torch/core/cpu.h"

using namespace torch;

namespace {

void every_task_runs_exactly_once() {
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      parallel_run(count, [&](int64_t i) { seen[i].fetch_add(1); });
      for (auto& times : seen) CHECK_EQ(times.load(), 1);
    }
  }
}

void parallel_for_cuts_by_grain_alone() {
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    std::vector<int64_t> end_of(100, 0);
    parallel_for(100, 30, [&](int64_t begin, int64_t end) { end_of[begin] = end; });
    CHECK_EQ(end_of[0], 30);
    CHECK_EQ(end_of[30], 60);
    CHECK_EQ(end_of[60], 90);
    CHECK_EQ(end_of[90], 100);
  }
  int calls = 0;
  parallel_for(0, 8, [&](int64_t, int64_t) { ++calls; });
  CHECK_EQ(calls, 0);
  parallel_for(8, 8, [&](int64_t, int64_t) { ++calls; });
  CHECK_EQ(calls, 1);
}

void nested_calls_run_in_the_calling_thread() {
  set_num_threads(4);
  std::atomic<int> total{0};
  CHECK(!in_parallel_region());
  parallel_run(8, [&](int64_t) {
    if (!in_parallel_region()) total.fetch_add(1000);
    const auto self = std::this_thread::get_id();
    parallel_run(8, [&](int64_t) { total.fetch_add(std::this_thread::get_id() == self ? 1 : 1000); });
  });
  CHECK(!in_parallel_region());
  CHECK_EQ(total.load(), 64);
}

void the_error_of_the_lowest_task_is_rethrown() {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (int round = 0; round < 50; ++round) {
      std::string text;
      try {
        parallel_run(100, [&](int64_t i) {
          if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      CHECK_EQ(text, "3");
    }
    std::atomic<int> after{0};
    parallel_run(10, [&](int64_t) { after.fetch_add(1); });
    CHECK_EQ(after.load(), 10);
  }
}

void several_user_threads_may_call_at_once() {
  set_num_threads(3);
  std::vector<std::thread> users;
  std::atomic<int64_t> total{0};
  for (int user = 0; user < 12; ++user)
    users.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        int64_t parts[16] = {};
        parallel_run(16, [&](int64_t i) { parts[i] = i; });
        for (int64_t part : parts) total.fetch_add(part);
      }
    });
  for (int n : {1, 4, 2, 6}) {
    set_num_threads(n);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (auto& user : users) user.join();
  CHECK_EQ(total.load(), 12 * 200 * 120);
}

void sleeping_workers_wake_up() {
  set_num_threads(2);
  std::atomic<int> helped{0};
  const auto self = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    parallel_run(2, [&](int64_t) {
      if (std::this_thread::get_id() != self) helped.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
  CHECK(helped.load() > 0);
}

void numbers_of_threads_are_checked() {
  CHECK_THROWS(set_num_threads(0), Value, "got 0");
  CHECK_THROWS(set_num_threads(-3), Value, "got -3");
  set_num_threads(3);
  CHECK_EQ(num_threads(), 3);
  CHECK(available_cpus() >= 1);
}

void measure() {
  set_num_threads(2);
  volatile int sink[64] = {};
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000; ++i) parallel_run(2, [&](int64_t task) { sink[task * 32] = 1; });
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("fork and join of two empty tasks: %.2f us\n", spent.count() / 20000 * 1e6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--measure") == 0) return measure(), 0;
  RUN(every_task_runs_exactly_once);
  RUN(parallel_for_cuts_by_grain_alone);
  RUN(nested_calls_run_in_the_calling_thread);
  RUN(the_error_of_the_lowest_task_is_rethrown);
  RUN(several_user_threads_may_call_at_once);
  RUN(sleeping_workers_wake_up);
  RUN(numbers_of_threads_are_checked);
  return test::result();
}
