// Weights that are packed once, against those that are packed at each call: the same bits, whatever else is made of the
// same weights meanwhile.
#include "storage/forms.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "blas/blas.h"
#include "check.h"
#include "ops/conv/shape.h"

using namespace torch;

namespace {

std::vector<float> noise(size_t n, uint32_t state) {
  std::vector<float> out(n);
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x = float(int32_t(state) >> 8) / float(1 << 23);
  }
  return out;
}

// For the time of a block: `weights` are constants.
class Constant {
 public:
  explicit Constant(const std::vector<float>& weights) {
    const void* data = weights.data();
    const int64_t bytes = int64_t(weights.size() * sizeof(float));
    forms_ = torch_forms_make(&data, &bytes, 1);
  }
  ~Constant() { torch_forms_free(forms_); }
  template <class F>
  void with(F f) const {
    Forms* const before = torch_forms_use(forms_);
    f();
    torch_forms_use(before);
  }

 private:
  Forms* forms_;
};

// f(out) gives the same bits without forms, with those it makes, and with those it finds.
template <class F>
void check_bits(const Constant& constant, size_t count, F f) {
  std::vector<float> plain(count), kept(count);
  f(plain.data());
  for (int turn = 0; turn < 2; ++turn) {
    std::fill(kept.begin(), kept.end(), 7.f);
    constant.with([&] { f(kept.data()); });
    CHECK(std::memcmp(plain.data(), kept.data(), count * sizeof(float)) == 0);
  }
}

void a_form_is_made_once_and_only_of_constants() {
  const std::vector<float> weights = noise(64, 1), others = noise(64, 2);
  const Constant constant(weights);
  int made = 0;
  const auto ask = [&](const float* data, int64_t number) {
    return form_of<float>({data, FormKind::Columns, {number}}, 4, [&](float* to) {
      ++made;
      for (int i = 0; i < 4; ++i) to[i] = data[i] + float(number);
    });
  };
  CHECK(!ask(weights.data(), 1));  // nobody has said that they are
  constant.with([&] {
    CHECK(!ask(others.data(), 1));
    CHECK(!ask(weights.data() + 64, 1));
    const float* one = ask(weights.data(), 1);
    CHECK_EQ(one[3], weights[3] + 1);
    CHECK(ask(weights.data(), 1) == one);
    CHECK_EQ(made, 1);
    CHECK_EQ(ask(weights.data(), 2)[0], weights[0] + 2);
    CHECK_EQ(ask(weights.data() + 32, 1)[0], weights[32] + 1);
    CHECK_EQ(made, 3);
  });
  CHECK(!ask(weights.data(), 1));
}

void products() {
  constexpr int64_t kMost = 500;
  const std::vector<float> weights = noise(kMost * kMost, 3), a = noise(1200 * kMost, 4), d = noise(kMost, 5);
  const Constant constant(weights);
  for (int64_t m : {1, 9, 14, 64, 197, 1100})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{33, 400}, {400, 33}, {500, 500}, {64, 390}})
      for (bool turned : {false, true})
        check_bits(constant, size_t(m * n), [&](float* out) {
          const MatrixView<const float> b{weights.data(), turned ? 1 : n, turned ? k : 1};
          gemm<float>(m, n, k, 1.f, {a.data(), k, 1}, b, 1.f, {d.data(), 0, 1}, {out, n, 1});
        });
}

void convolutions() {
  const std::vector<float> weights = noise(64 * 64 * 25, 6), x = noise(2 * 64 * 33 * 33, 7), bias = noise(64, 8);
  const Constant constant(weights);  // of all of them
  for (int64_t images : {1, 2})
    for (int64_t kernel : {1, 2, 3, 5})
      for (int64_t stride : {1, 2})
        for (int64_t padding : {0, 1})
          for (auto [channels, outputs, groups] :
               {std::tuple<int64_t, int64_t, int64_t>{3, 16, 1}, {64, 48, 1}, {48, 64, 4}})
            for (int64_t size : {5, 30})
              for (bool last : {false, true}) {
                if (kernel > size + 2 * padding) continue;
                ConvShape s{images,
                            channels,
                            outputs,
                            groups,
                            {1, size, size},
                            {1, 1, 1},
                            {1, kernel, kernel},
                            {1, stride, stride},
                            {0, padding, padding},
                            {1, 1, 1}};
                for (int k : {1, 2}) s.out[k] = (size + 2 * padding - kernel) / stride + 1;
                s.channels_last = s.channels_last_weights = last && prefers_channels_last(s);
                check_bits(constant, size_t(s.n * s.o * s.out_plane()),
                           [&](float* y) { conv_forward<float>(s, x.data(), weights.data(), bias.data(), y); });
                check_bits(constant, size_t(s.n * s.c * s.in_plane()),
                           [&](float* dx) { conv_backward_data<float>(s, x.data(), weights.data(), bias.data(), dx); });
              }
}

}  // namespace

int main() {
  RUN(a_form_is_made_once_and_only_of_constants);
  RUN(products);
  RUN(convolutions);
  return test::result();
}
