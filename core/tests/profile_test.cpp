// The profiler's observer: what it notes of operators, ranges, memory and threads. Run it under -fsanitize=thread, too.
#include "torch/core/profile.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "torch/core/init.h"
#include "torch/core/ops.h"

using namespace torch;

namespace {

std::vector<std::string> names_of(const profile::Recording& r) {
  std::vector<std::string> names;
  for (const auto& e : r.events) names.push_back(r.names[e.name]);
  return names;
}

void operators_and_ranges_nest() {
  Tensor a = torch::ones({2, 3}, DType::Float32);
  const uint64_t s = profile::start(0);
  {
    profile::Range range("outer");
    torch::add(a, a);
    torch::mul(a, a);
  }
  torch::neg(a);
  const profile::Recording r = profile::stop(s);
  CHECK((names_of(r) == std::vector<std::string>{"outer", "aten::add", "aten::mul", "aten::neg"}));
  CHECK_EQ(r.events[0].parent, -1);
  CHECK_EQ(r.events[1].parent, 0);
  CHECK_EQ(r.events[2].parent, 0);
  CHECK_EQ(r.events[3].parent, -1);
  const auto& e = r.events;
  CHECK(e[0].start <= e[1].start && e[1].end <= e[2].start && e[2].end <= e[0].end && e[0].end <= e[3].start);
  CHECK(e[3].end <= r.duration);
  CHECK_EQ(e[0].self, (e[0].end - e[0].start) - (e[1].end - e[1].start) - (e[2].end - e[2].start));
  CHECK(!profile::on());
}

void nothing_is_noted_while_nobody_records() {
  CHECK_EQ(profile::begin(profile::Scope::User, "nobody"), profile::Handle(0));
  profile::end(0);
  const uint64_t s = profile::start(0);
  CHECK(profile::stop(s).events.empty());
  CHECK_THROWS(profile::stop(s), Runtime, "there is no session");
}

void sessions_overlap() {
  Tensor a = torch::ones({4}, DType::Float32);
  const uint64_t outer = profile::start(0);
  torch::add(a, a);
  const uint64_t inner = profile::start(0);
  torch::mul(a, a);
  CHECK((names_of(profile::stop(outer)) == std::vector<std::string>{"aten::add", "aten::mul"}));
  torch::neg(a);
  CHECK((names_of(profile::stop(inner)) == std::vector<std::string>{"aten::mul", "aten::neg"}));
}

void what_takes_turns_is_not_nested() {
  const uint64_t s = profile::start(0);
  const auto a = profile::begin(profile::Scope::User, "a"), b = profile::begin(profile::Scope::User, "b");
  profile::end(a);
  const auto c = profile::begin(profile::Scope::User, "c");
  profile::end(c);
  profile::end(b);
  const auto left = profile::begin(profile::Scope::User, "left open");
  const profile::Recording r = profile::stop(s);
  profile::end(left);
  CHECK((names_of(r) == std::vector<std::string>{"a", "b", "c", "left open"}));
  CHECK_EQ(r.events[1].parent, -1);
  CHECK_EQ(r.events[2].parent, 1);
  CHECK(r.events[3].is_open && r.events[3].end == r.duration && !r.events[0].is_open);
  int64_t self = 0;
  for (const auto& e : r.events) self += e.self;
  CHECK_EQ(self, r.events[1].end - r.events[0].start + r.duration - r.events[3].start);
}

void a_range_may_end_on_another_thread() {
  const uint64_t s = profile::start(0);
  const auto range = profile::begin(profile::Scope::User, "request");
  std::thread([&] { profile::end(range); }).join();
  const auto after = profile::begin(profile::Scope::User, "after");
  profile::end(after);
  const profile::Recording r = profile::stop(s);
  CHECK_EQ(r.events.size(), size_t(2));
  CHECK(r.events[0].is_async && !r.events[0].is_open && !r.events[1].is_async);
  CHECK(r.events[0].end <= r.events[1].start && r.events[1].parent == -1);
}

void memory_is_exact() {
  const uint64_t s = profile::start(profile::kMemory);
  Tensor kept;
  {
    profile::Range range("range");
    kept = torch::empty({1000}, DType::Float32);
    torch::empty({100000}, DType::Float64);  // above the small blocks, and freed at once
  }
  kept = Tensor();
  const profile::Recording r = profile::stop(s);
  CHECK_EQ(r.events[0].bytes, 4000);
  CHECK_EQ(r.events[0].self_bytes, -800000);
  CHECK_EQ(r.events[1].self_bytes, 4000);
  CHECK_EQ(r.events[2].self_bytes, 800000);
  CHECK_EQ(r.memory.size(), size_t(4));
  CHECK_EQ(r.memory[3].bytes, -4000);
  CHECK_EQ(r.memory[3].event, -1);
  CHECK_EQ(r.memory[3].address, r.memory[0].address);
}

void arguments_are_words() {
  Tensor a = torch::ones({2, 3}, DType::Float32), b = torch::ones({3}, DType::Float32);
  const uint64_t s = profile::start(profile::kShapes);
  torch::add(a, b, Scalar(int64_t(2)));
  const profile::Recording r = profile::stop(s);
  using profile::Argument, profile::argument_head;
  const std::vector<uint64_t> expected = {argument_head(Argument::Tensor, DType::Float32, 2),
                                          2,
                                          3,
                                          argument_head(Argument::Tensor, DType::Float32, 1),
                                          3,
                                          argument_head(Argument::Int, {}, 0),
                                          2};
  CHECK(r.words == expected);
  CHECK_EQ(r.events[0].argument_words, expected.size());
}

void records_beyond_the_limit_are_counted() {
  profile::set_limit(1 << 20);
  const uint64_t s = profile::start(0);
  profile::Range outer("outer");
  for (int i = 0; i < 100000; ++i) profile::Range range("x");
  const profile::Recording r = profile::stop(s);
  profile::set_limit(uint64_t{256} << 20);
  CHECK(r.dropped > 0);
  CHECK_EQ(profile::stop(profile::start(0)).dropped, uint64_t(0));
  CHECK_EQ(r.events.size() + r.dropped, size_t(100001));
  size_t right = 0;
  for (const auto& e : r.events) right += !e.is_open && e.parent == 0;
  CHECK_EQ(right, r.events.size() - 1);  // all but the outer one
}

// Writers that come and go while sessions are read: nothing is lost, nothing is torn.
void threads_write_while_sessions_are_read() {
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t)
    writers.emplace_back([&done, t] {
      Tensor a = torch::ones({8}, DType::Float32);
      while (!done) {
        profile::Range range("loop " + std::to_string(t));
        for (int i = 0; i < 50; ++i) torch::add(a, a);
      }
    });
  uint64_t seen = 0;
  for (int i = 0; i < 40; ++i) {
    const uint64_t s = profile::start(profile::kShapes | profile::kMemory);
    std::thread([] {
      Tensor a = torch::ones({8}, DType::Float32);
      for (int k = 0; k < 2000; ++k) torch::mul(a, a);
    }).join();
    const profile::Recording r = profile::stop(s);
    int64_t muls = 0, torn = 0;
    for (const auto& e : r.events) {
      const std::string& name = r.names[e.name];
      muls += name == "aten::mul";
      if (name != "aten::mul" && name != "aten::add" && name != "aten::ones" && name.substr(0, 5) != "loop ")
        CHECK_EQ(name, "a known name");
      torn += e.end < e.start || e.self < 0 || e.end > r.duration;
    }
    CHECK_EQ(muls, 2000);
    CHECK_EQ(torn, 0);
    seen += r.events.size();
  }
  done = true;
  for (auto& w : writers) w.join();
  CHECK(seen > 80000);
}

void a_forked_child_records_nothing_and_can_begin_anew() {
  Tensor a = torch::ones({4}, DType::Float32);
  const uint64_t s = profile::start(0);
  torch::add(a, a);
  const pid_t child = fork();
  if (child == 0) {
    torch::mul(a, a);
    bool fine = !profile::on() && profile::stop(s).events.size() == 1;
    const uint64_t own = profile::start(0);
    torch::neg(a);
    fine = fine && profile::stop(own).events.size() == 1;
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  torch::mul(a, a);
  CHECK_EQ(profile::stop(s).events.size(), size_t(2));
}

}  // namespace

int main() {
  init();
  RUN(operators_and_ranges_nest);
  RUN(nothing_is_noted_while_nobody_records);
  RUN(sessions_overlap);
  RUN(what_takes_turns_is_not_nested);
  RUN(a_range_may_end_on_another_thread);
  RUN(memory_is_exact);
  RUN(arguments_are_words);
  RUN(records_beyond_the_limit_are_counted);
  RUN(threads_write_while_sessions_are_read);
  RUN(a_forked_child_records_nothing_and_can_begin_anew);
  return test::result();
}
