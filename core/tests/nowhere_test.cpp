// A device of a plug-in that has memory and nothing else: what works on it, and what operators say that lack a kernel.
// The fault of one that touches the memory all the same names the operator.
#include "nowhere.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "calls.h"
#include "check.h"
#include "torch/core/ops.h"

using namespace torch;
using torch::test::GeneratedCall;

namespace {

constexpr Device kNowhere(DeviceType::PrivateUse1);

std::string printed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

void test_a_backend_gives_its_device_a_name_and_tensors() {
  CHECK_THROWS(empty({2}, DType::Float32, kNowhere), NotImplemented,
               "empty: no memory on device privateuseone; no plug-in has registered a backend for it");
  register_backend(DeviceType::PrivateUse1, &torch::test::nowhere());
  register_backend(DeviceType::PrivateUse1, &torch::test::nowhere());  // once more is no harm
  static const DeviceBackend other = [] {
    DeviceBackend b = torch::test::nowhere();
    b.name = "elsewhere";
    return b;
  }();
  CHECK_THROWS(register_backend(DeviceType::PrivateUse1, &other), Runtime,
               "the backend 'nowhere' is registered already");
  CHECK_THROWS(register_backend(DeviceType::CPU, &other), Runtime, "device cpu has no backend to register");
  CHECK(parse_device("nowhere") == kNowhere && to_string(parse_device("nowhere:0")) == "nowhere:0");
  const Tensor t = empty({2, 3}, DType::Float32, parse_device("nowhere"));
  CHECK_EQ(to_string(t.device()), std::string("nowhere:0"));
  CHECK(t->storage->nbytes == 24 && t.has(DispatchKey::PrivateUse1) && !t.is_meta());
  CHECK_EQ(empty({0}, DType::Float32, kNowhere).data(), nullptr);
}

void test_factories_copies_and_views_need_no_kernel() {
  const Tensor x = ones({2, 3}, std::nullopt, kNowhere);
  CHECK(x.device() == zeros_like(x).device() && arange(Scalar(4), DType::Int64, kNowhere).size(0) == 4);
  const Tensor here = ones({2, 3});
  CHECK(_to_copy(here, std::nullopt, kNowhere).sizes() == here.sizes());
  CHECK(_to_copy(transpose(here, 0, 1), DType::Float64, kNowhere).dtype() == DType::Float64);
  CHECK(copy_(x, here).device() == x.device());
  CHECK(torch::clone(x)->storage != x->storage);
  CHECK(transpose(x, 0, 1)->storage == x->storage && torch::select(x, 0, 1).dim() == 1);
  Tensor grown = empty({2}, DType::Float32, kNowhere);
  CHECK(resize_(grown, {40}).numel() == 40 && grown->storage->nbytes == 160);
}

void test_what_lacks_a_kernel_says_so() {
  const Tensor x = ones({2, 3}, std::nullopt, kNowhere), y = ones({2, 3});
  CHECK_THROWS(add(x, x), NotImplemented,
               "add: no kernel for nowhere tensors; the backend 'nowhere' has none; move the tensors with .to('cpu')");
  CHECK_THROWS(torch::rand({2}, nullptr, std::nullopt, kNowhere), NotImplemented,
               "rand: no kernel for nowhere tensors");
  CHECK_THROWS(sum(x), NotImplemented, "sum: no kernel for nowhere tensors");
  CHECK_THROWS(softmax(x, 1), NotImplemented, "softmax: no kernel for nowhere tensors");
  CHECK_THROWS(mm(x, transpose(x, 0, 1)), NotImplemented, "mm: no kernel for nowhere tensors");
  CHECK_THROWS(mm(x, transpose(y, 0, 1)), Runtime, "mm: Expected all tensors to be on the same device, but found");
  CHECK_THROWS(add(x, y), Runtime, "add: Expected all tensors to be on the same device");
  CHECK_THROWS(torch::clone(transpose(x, 0, 1), MemoryFormat::Contiguous), NotImplemented,
               "clone: no kernel for nowhere");
  CHECK_THROWS(fft_fft(ones({2}, DType::Complex64, kNowhere)), NotImplemented, "fft: no kernel for nowhere");
  CHECK_THROWS(softmax(x, 7), Index, "Dimension out of range");  // every device shares the checks
  CHECK_THROWS(mm(x, x), Runtime, "mm: last dim of self (2, 3) must equal first dim of mat2 (2, 3)");
}

void test_values_that_cannot_be_read_are_an_error() {
  const Tensor x = ones({1}, std::nullopt, kNowhere);
  CHECK_THROWS(number_of(x), NotImplemented, "item: the backend 'nowhere' cannot read memory of nowhere:0");
  CHECK_THROWS(_to_copy(x, std::nullopt, Device()), NotImplemented, "copy_: the backend 'nowhere' cannot read memory");
  CHECK_THROWS(printed(x), NotImplemented, "cannot read memory");
  CHECK_THROWS(equal(x, x), NotImplemented, "no kernel for nowhere");
}

// --- every row ---

const char* volatile current = "";
void fault(int) {
  const char* parts[] = {"touches memory that is not the CPU's: ", current, "\n"};
  for (const char* part : parts)
    if (write(2, part, std::strlen(part)) < 0) break;
  _exit(1);
}

void test_no_operator_touches_the_memory() {
  std::signal(SIGSEGV, fault);
  std::signal(SIGBUS, fault);
  int ran = 0, lacked = 0;
  const auto on = [](IntArrayRef sizes, DType t) { return empty_tensor(sizes, t, kNowhere); };
  for (const Row* row : all_rows()) {
    current = row->schema.text;
    for (const auto& sizes : {std::vector<int64_t>{}, {4}, {3, 3}, {2, 3, 3}, {1, 2, 3, 3}})
      for (DType first : {DType::Float32, DType::Complex64, DType::Int64, DType::Bool, DType::UInt8})
        for (DType second : {first, DType::Int64, DType::Float32}) {
          const Tensor given[] = {on(sizes, first), on(sizes, second)};
          GeneratedCall call(*row, given);
          if (!call.tensors) continue;
          Result result;
          try {
            row->invoke(call.values, result);
            ++ran;
          } catch (const Error& e) {
            lacked += std::string_view(e.what()).find("nowhere") != std::string_view::npos;
          }
        }
  }
  CHECK(ran > 2000);
  CHECK(lacked > 10000);
}

}  // namespace

int main() {
  RUN(test_a_backend_gives_its_device_a_name_and_tensors);
  RUN(test_factories_copies_and_views_need_no_kernel);
  RUN(test_what_lacks_a_kernel_says_so);
  RUN(test_values_that_cannot_be_read_are_an_error);
  RUN(test_no_operator_touches_the_memory);
  return torch::test::result();
}
