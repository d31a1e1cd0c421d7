// The checker finds every planted mistake, and nothing in kernels that have none.
#include <numeric>

#include "check.h"
#include "cuda_host/control.h"
#include "kernels.h"

using namespace torch::cuda;
using cuda_host::findings;

namespace {

void check_finds(const char* kind, const std::string& piece, const char* name, float* x, float* y, int line,
                 const float* host = nullptr) {
  findings().clear();
  plant(name, x, y, host);
  cudaDeviceSynchronize();
  cuda_host::reset();
  std::string all;
  for (const auto& f : findings()) {
    if (f.kind == kind && f.text.find(piece) != f.text.npos && f.text.find(name) == 0) return;
    all += "\n  [" + f.kind + "] " + f.text;
  }
  torch::test::fail(__FILE__, line, std::string(name) + " is not found, but:" + all);
}
#define CHECK_FINDS(kind, piece, name, ...) check_finds(kind, piece, name, x, y, __LINE__, ##__VA_ARGS__)

void test_races() {
  Array<float> x(std::vector<float>(4096, 1.0f)), y(std::vector<float>(4096, 0.0f));
  CHECK_FINDS("race", "shared memory: block 0 thread", "no_barrier");
  CHECK_FINDS("race", "shared memory", "no_second_barrier");
  CHECK_FINDS("race", "shared memory", "shuffle_orders_no_memory");
  CHECK_FINDS("race", "shared memory", "waits_for_other_lanes");
  CHECK_FINDS("race", "writes, and", "same_place");
  CHECK_FINDS("race", "block 1 thread 0", "blocks_add_without_atomics");
  CHECK_FINDS("race", "writes, and", "a_block_reads_what_another_writes");
  CHECK_FINDS("race", "planted.cu:", "same_place");  // and says where
}

void test_memory_of_others() {
  Array<float> x(4096), y(std::vector<float>(4096, 0.0f));
  const std::vector<float> host(64, 1.0f);
  CHECK_FINDS("outside", "reads memory that is not the device's", "reads_host_memory", host.data());
  CHECK_FINDS("outside", "writes memory that is not the device's", "just_beyond_the_end");
  CHECK_FINDS("uninitialised", "reads device memory that nobody wrote", "copies");
  CHECK_FINDS("uninitialised", "reads shared memory", "reads_fresh_shared");
  cuda_host::config().devices = 2;
  cudaSetDevice(1);
  CHECK_FINDS("outside", "memory of device 0 in a kernel of device 1", "same_place");
  cudaSetDevice(0);
  cuda_host::config().devices = 1;
}

// Of what a kernel asked of memory: the parts that it cost, over the fewest that would do.
double cost(bool store, bool shared) {
  double parts = 0, least = 0;
  for (const auto& t : cuda_host::take_traffic())
    if (t.store == store && t.shared == shared) parts += double(t.parts), least += double(t.least);
  return parts / least;
}
void test_what_requests_cost() {
  std::vector<float> numbers(64 * 64, 1.0f);
  Array<float> x(numbers), y(64 * 64);
  const auto run = [&](auto f) {
    cudaDeviceSynchronize();
    cuda_host::take_traffic();
    cuda_host::counts_traffic() = true;
    f();
    cudaDeviceSynchronize();
    cuda_host::counts_traffic() = false;
  };
  const auto turn = [&] { transpose(x, y, 64, 64); };
  const auto read_columns = [&] { plant("reads_columns", x, y, nullptr); };
  run(turn);
  CHECK_EQ(cost(false, false), 1.0);
  run(turn);
  CHECK_EQ(cost(true, false), 1.0);
  run(turn);
  CHECK_EQ(cost(false, true), 1.0);  // its rows have one more column
  run(read_columns);
  CHECK_EQ(cost(false, false), 8.0);  // four bytes of each sector of 32
  run(read_columns);
  CHECK_EQ(cost(true, true), 32.0);  // one bank gives 32 words one after the other
  run(read_columns);
  CHECK_EQ(cost(true, false), 1.0);
  run([&] { plant("copies", x, y, nullptr); });
  const auto lines = cuda_host::take_traffic();
  CHECK_EQ(lines.size(), size_t(2));
  for (const auto& t : lines) {
    CHECK_EQ(t.kernel, std::string("copies"));
    CHECK(t.requests == 1 && t.parts == 4 && t.least == 4 && !t.shared);
    CHECK(t.line.find("planted.cu:") == 0);
  }
}

void test_clean_kernels_are_clean() {
  findings().clear();
  std::vector<float> numbers(10007);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  Array<float> x(numbers), one(1), turned(100 * 37), looked(3000);
  Array<double> partial(20);
  Array<unsigned> ticket(std::vector<unsigned>{0});
  total(x, one, partial, ticket, 10007);
  CHECK_EQ(one.get()[0], 10006.0f * 10007 / 2);
  transpose(x, turned, 100, 37);
  Array<uint8_t> bytes(std::vector<uint8_t>(3000, 7));
  Array<int> counted(std::vector<int>(256)), some(std::vector<int>(700, 2)), sums(700);
  histogram(bytes, counted, 3000, nullptr);
  CHECK_EQ(counted.get()[7], 3000);
  prefix_sums(some, sums, 700);
  exchange(some, sums);
  look_up(bytes, looked, 3000);
  cudaDeviceSynchronize();
  CHECK(cudaGetLastError() == cudaSuccess);
  for (const auto& f : findings()) torch::test::fail(__FILE__, __LINE__, "[" + f.kind + "] " + f.text);
}

}  // namespace

int main() {
  for (uint64_t order : {0, 3}) {
    cuda_host::config().order = order;
    RUN(test_races);
    RUN(test_memory_of_others);
    RUN(test_what_requests_cost);
    RUN(test_clean_kernels_are_clean);
  }
  return torch::test::result();
}
