// Views, creation and joining as C++ callers meet them.
#include "torch/core/ops/view.h"

#include "check.h"
#include "torch/core/init.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"

using namespace torch;

namespace {

Tensor count_up(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return view(arange(n), sizes);
}
int64_t at(const Tensor& t, IntArrayRef index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * t.stride(int64_t(i));
  return t.data<int64_t>()[offset];
}

void views_share_memory_and_name_their_base() {
  Tensor x = count_up({2, 3, 4}), y = transpose(x, 0, 2), z = torch::select(y, 1, 2);
  CHECK(y.sizes() == IntArrayRef({4, 3, 2}) && y.strides() == IntArrayRef({1, 4, 12}));
  CHECK(z->base == x->base && z.sizes() == IntArrayRef({4, 2}) && at(z, {3, 1}) == 23);
  CHECK(y->storage == x->storage);
}

void view_infers_one_size_and_follows_strides() {
  Tensor x = count_up({4, 6});
  CHECK(view(x, {2, -1, 3}).sizes() == IntArrayRef({2, 4, 3}));
  Tensor columns = slice(x, 1, 0, 3);  // rows of 3 with a gap
  CHECK(view(columns, {2, 2, 3}).strides() == IntArrayRef({12, 6, 1}));
  CHECK_THROWS(view(columns, {12}), Runtime, "view size is not compatible with input tensor's size and stride");
  CHECK(reshape(columns, {12}).is_contiguous() && at(reshape(columns, {12}), {4}) == 7);
  CHECK_THROWS(view(x, {5, -1}), Runtime, "shape '[5, -1]' is invalid for input of size 24");
  CHECK_THROWS(view(x, {-1, -1}), Runtime, "only one dimension can be inferred");
}

void slices_clamp_and_run_backwards() {
  Tensor x = count_up({10});
  CHECK_EQ(slice(x, 0, -3, 100).numel(), 3);
  CHECK_EQ(slice(x, 0, 5, 2).numel(), 0);
  Tensor back = slice(x, 0, std::nullopt, std::nullopt, -3);
  CHECK_EQ(back.numel(), 4);
  CHECK_EQ(at(back, {0}), 9);
  CHECK_EQ(at(back, {3}), 0);
  CHECK_EQ(slice(x, 0, 2, std::nullopt, -1).numel(), 3);
  CHECK_EQ(slice(x, 0, INT64_MIN, INT64_MAX, INT64_MAX).numel(), 1);
  CHECK_THROWS(slice(x, 0, 0, 1, 0), Value, "slice step cannot be zero");
}

void in_place_views_count_as_changes() {
  Tensor x = count_up({1, 3});
  uint32_t before = x.version();
  squeeze_(x);
  CHECK(x.sizes() == IntArrayRef({3}) && x.version() == before + 1);
}

void strided_views_stay_inside_the_storage() {
  Tensor x = count_up({4});
  CHECK_THROWS(as_strided(x, {3}, {2}), Runtime, "out of bounds for storage");
  CHECK_THROWS(as_strided(x, {2}, {-1}, 0), Runtime, "out of bounds for storage");
  CHECK_THROWS(as_strided(x, {2, 2}, {INT64_MAX, INT64_MAX}), Runtime, "reach further than 64 bits");
  CHECK_EQ(at(as_strided(x, {2}, {-1}, 3), {1}), 2);
}

void cat_promotes_and_skips_the_legacy_empty() {
  Tensor x = count_up({2, 2});
  Tensor c = cat(std::vector<Tensor>{x, zeros({0}), full({2, 1}, 7, DType::Int64)}, 1);
  CHECK(c.sizes() == IntArrayRef({2, 3}) && c.dtype() == DType::Float32);
  CHECK_THROWS(cat(std::vector<Tensor>{x, count_up({3, 3})}, 0), Runtime,
               "Sizes of tensors must match except in dimension 0");
  CHECK_THROWS(cat(TensorList{}, 0), Value, "non-empty list");
  CHECK_EQ(at(stack(std::vector<Tensor>{x, x}, 2), {1, 0, 1}), 2);
}

void meta_tensors_have_shapes_only() {
  Tensor m = zeros({3, 4}, std::nullopt, Device(DeviceType::Meta));
  CHECK(m.is_meta() && transpose(m, 0, 1).sizes() == IntArrayRef({4, 3}));
  CHECK(cat(std::vector<Tensor>{m, m}, 0).sizes() == IntArrayRef({6, 4}) && tril(m).is_meta());
}

}  // namespace

int main() {
  init();
  RUN(views_share_memory_and_name_their_base);
  RUN(view_infers_one_size_and_follows_strides);
  RUN(slices_clamp_and_run_backwards);
  RUN(in_place_views_count_as_changes);
  RUN(strided_views_stay_inside_the_storage);
  RUN(cat_promotes_and_skips_the_legacy_empty);
  RUN(meta_tensors_have_shapes_only);
  return torch::test::result();
}
