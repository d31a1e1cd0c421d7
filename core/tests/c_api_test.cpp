// The C interface, used as a C program would.
#include <cstring>

#include "check.h"
#include "torch/c/torch.h"

static void test_operators_run_by_name() {
  torch_tensor* a = nullptr;
  int64_t shape[2] = {2, 3};
  CHECK_EQ(int(torch_ones(2, shape, TORCH_FLOAT32, &a)), int(TORCH_OK));
  torch_value args[2] = {torch_value_tensor(a), torch_value_tensor(a)}, out;
  CHECK_EQ(int(torch_call("add", args, 2, &out, 1)), int(TORCH_OK));
  CHECK_EQ(torch_ndim(out.as.tensor), 2);
  CHECK_EQ(static_cast<float*>(torch_data(out.as.tensor))[5], 2.0f);
  torch_release(out.as.tensor);
  int64_t sizes[1] = {6};
  args[1] = torch_value_ints(sizes, 1);
  CHECK_EQ(int(torch_call("view", args, 2, &out, 1)), int(TORCH_OK));
  CHECK_EQ(torch_sizes(out.as.tensor)[0], int64_t(6));
  torch_release(out.as.tensor);
  torch_release(a);
}

static void test_failures_give_a_status_and_a_text() {
  torch_tensor* a = nullptr;
  int64_t negative[1] = {-1}, three[1] = {3}, four[1] = {4};
  CHECK_EQ(int(torch_empty(1, negative, TORCH_FLOAT32, &a)), int(TORCH_ERROR_RUNTIME));
  CHECK(std::strstr(torch_last_error(), "negative"));
  CHECK_EQ(int(torch_call("no_such_operator", nullptr, 0, nullptr, 0)), int(TORCH_ERROR_NOT_IMPLEMENTED));
  torch_tensor* b = nullptr;
  torch_ones(1, three, TORCH_FLOAT32, &a);
  torch_ones(1, four, TORCH_FLOAT32, &b);
  torch_value args[3] = {torch_value_tensor(a), torch_value_tensor(b), torch_value_string("x")}, out;
  CHECK(torch_call("add", args, 2, &out, 1) != TORCH_OK);
  CHECK_EQ(int(torch_call("add", args, 3, &out, 1)), int(TORCH_ERROR_TYPE));
  CHECK(std::strstr(torch_last_error(), "alpha"));
  torch_release(a);
  torch_release(b);
  CHECK_EQ(int(torch_fail(TORCH_ERROR_VALUE, "mine")), int(TORCH_ERROR_VALUE));
  CHECK_EQ(std::strcmp(torch_last_error(), "mine"), 0);
}

static int deleted = 0;
static void test_memory_of_the_caller_is_released_once() {
  static double data[4] = {1, 2, 3, 4};
  torch_tensor* a = nullptr;
  int64_t shape[2] = {2, 2}, reversed[2] = {-2, -1};
  CHECK_EQ(int(torch_from_memory(
               data + 3, 2, shape, reversed, TORCH_FLOAT64, [](void*) { ++deleted; }, nullptr, &a)),
           int(TORCH_OK));
  CHECK_EQ(static_cast<double*>(torch_data(a))[0], 4.0);
  DLManagedTensor* m = nullptr;
  CHECK_EQ(int(torch_to_dlpack(a, &m)), int(TORCH_OK));
  torch_release(a);
  torch_tensor* b = nullptr;
  CHECK_EQ(int(torch_from_dlpack(m, &b)), int(TORCH_OK));
  CHECK_EQ(deleted, 0);
  CHECK_EQ(torch_strides(b)[0], int64_t(-2));
  torch_release(b);
  CHECK_EQ(deleted, 1);
}

int main() {
  RUN(test_operators_run_by_name);
  RUN(test_failures_give_a_status_and_a_text);
  RUN(test_memory_of_the_caller_is_released_once);
  return torch::test::result();
}
