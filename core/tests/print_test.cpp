// std::cout << tensor, against what programs of PyTorch print.
#include <cmath>
#include <sstream>

#include "check.h"
#include "torch/core/ops.h"

using namespace torch;

namespace {

std::string printed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

Tensor numbers(std::initializer_list<double> values, DType dtype = DType::Float64) {
  Tensor t = empty_tensor({int64_t(values.size())}, DType::Float64);
  std::copy(values.begin(), values.end(), t.data<double>());
  return _to_copy(t, dtype);
}

void test_matrices_stand_row_by_row() {
  CHECK_EQ(printed(ones({2, 3})), " 1  1  1\n 1  1  1\n[ CPUFloatType{2,3} ]");
  CHECK_EQ(printed(reshape(numbers({0, 1, 2, 3, 4, 5}, DType::Int64), {2, 3})),
           " 0  1  2\n 3  4  5\n[ CPULongType{2,3} ]");
  CHECK_EQ(printed(transpose(reshape(numbers({0, 1, 2, 30}, DType::Int32), {2, 2}), 0, 1)),
           "  0   2\n  1  30\n[ CPUIntType{2,2} ]");
  CHECK_EQ(printed(ones({2, 2}, DType::Bool)), " 1  1\n 1  1\n[ CPUBoolType{2,2} ]");
}

void test_vectors_are_columns_and_numbers_a_line() {
  CHECK_EQ(printed(numbers({1.5, 2.25, -3})), " 1.5000\n 2.2500\n-3.0000\n[ CPUDoubleType{3} ]");
  CHECK_EQ(printed(numbers({3.14159})), " 3.1416\n[ CPUDoubleType{1} ]");
  CHECK_EQ(printed(scalar_tensor_of(Scalar(int64_t(5)), DType::Int64)), "5\n[ CPULongType{} ]");
}

void test_leading_dims_stand_above_their_matrix() {
  CHECK_EQ(printed(reshape(numbers({0, 1, 2, 3, 4, 5, 6, 7}, DType::Float32), {2, 2, 2})),
           "(1,.,.) = \n 0  1\n 2  3\n\n(2,.,.) = \n 4  5\n 6  7\n[ CPUFloatType{2,2,2} ]");
}

void test_small_and_great_values_take_an_exponent() {
  CHECK_EQ(printed(numbers({1e10, 1.5, 1e-5})), " 1.0000e+10\n 1.5000e+00\n 1.0000e-05\n[ CPUDoubleType{3} ]");
  CHECK_EQ(printed(numbers({INFINITY, NAN, -INFINITY, 1}, DType::Float32)),
           " inf\n nan\n-inf\n   1\n[ CPUFloatType{4} ]");
}

void test_what_has_no_values_says_what_it_is() {
  CHECK_EQ(printed(ones({2, 0, 3})), "[ CPUFloatType{2,0,3} ]");
  CHECK_EQ(printed(empty_tensor({2, 3}, DType::Float16, DeviceType::Meta)), "[ MetaHalfType{2,3} ]");
  CHECK_EQ(printed(Tensor()), "[ Tensor (undefined) ]");
}

void test_a_line_has_eighty_columns() {
  const std::string text = printed(ones({2, 40}));
  CHECK(text.rfind("Columns 1 to 26\n", 0) == 0);
  CHECK(text.find("\nColumns 27 to 40\n") != text.npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

void test_messages_name_a_tensor_by_its_shape() {
  CHECK_EQ(message("got ", ones({2, 3}), " and ", Tensor()), "got (2, 3) torch.float32 and None");
}

}  // namespace

int main() {
  RUN(test_matrices_stand_row_by_row);
  RUN(test_vectors_are_columns_and_numbers_a_line);
  RUN(test_leading_dims_stand_above_their_matrix);
  RUN(test_small_and_great_values_take_an_exponent);
  RUN(test_what_has_no_values_says_what_it_is);
  RUN(test_a_line_has_eighty_columns);
  RUN(test_messages_name_a_tensor_by_its_shape);
  return torch::test::result();
}
