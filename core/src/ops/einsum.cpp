// Einstein's summation.
//
//   "bij,bjk->bik"    every operand becomes a tensor with one dimension per label of the whole equation, in one order:
//                     output labels first, then the summed ones; labels that it lacks have size 1
//   contraction       operands are taken from the left, two at a time, by one batched product: labels in both that are
//                     still needed are its batch, labels in both that are not are summed by it
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/promote.h"

namespace torch {

namespace {

constexpr int kLetters = 52;  // a to z, A to Z
int index_of(char c) { return c >= 'a' ? c - 'a' : c - 'A' + 26; }
char letter_of(int i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + i - 26); }
constexpr int kEllipsis = -1;

// Labels of one operand or of the output; kEllipsis stands for the dims of "...".
std::vector<int> parse(std::string_view text, std::string_view equation) {
  std::vector<int> labels;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      TORCH_CHECK(text.substr(i, 3) == "..." && std::find(labels.begin(), labels.end(), kEllipsis) == labels.end(),
                  "einsum: '.' stands in one '...' per operand only, in \"", equation, "\"");
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    TORCH_CHECK(std::isalpha(static_cast<unsigned char>(c)), "einsum: labels are letters, got '", c, "' in \"",
                equation, "\"");
    labels.push_back(index_of(c));
  }
  return labels;
}

// One product of two operands in the common order. `needed` tells which dimensions anyone still asks for.
Tensor contract(const Tensor& left, const Tensor& right, const std::vector<bool>& needed) {
  std::vector<int64_t> batch, only_left, only_right, summed, sum_left, sum_right;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool l = left.size(d) != 1, r = right.size(d) != 1;
    if (l && r)
      (needed[size_t(d)] ? batch : summed).push_back(d);
    else if (l)
      (needed[size_t(d)] ? only_left : sum_left).push_back(d);
    else if (r)
      (needed[size_t(d)] ? only_right : sum_right).push_back(d);
  }
  Tensor a = sum_left.empty() ? left : sum(left, IntArrayRef(sum_left), true);
  Tensor b = sum_right.empty() ? right : sum(right, IntArrayRef(sum_right), true);
  if (summed.empty()) return mul(a, b);
  if (a.dtype() != b.dtype()) {  // sums of small integers are wide
    const DType common = promote_types(a.dtype(), b.dtype());
    a = _to_copy(a, common);
    b = _to_copy(b, common);
  }
  const auto arranged = [](const Tensor& t, const std::vector<int64_t>& x, const std::vector<int64_t>& y,
                           const std::vector<int64_t>& z) {
    std::vector<int64_t> order = x, shape = {1, 1, 1};
    order.insert(order.end(), y.begin(), y.end());
    order.insert(order.end(), z.begin(), z.end());
    for (int64_t d : x) shape[0] *= t.size(d);
    for (int64_t d : y) shape[1] *= t.size(d);
    for (int64_t d : z) shape[2] *= t.size(d);
    for (int64_t d = 0; d < t.dim(); ++d)
      if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);  // of size 1
    return reshape(permute(t, order), shape);
  };
  const Tensor product = bmm(arranged(a, batch, only_left, summed), arranged(b, batch, summed, only_right));
  // Back from (batch, left, right) to the common order.
  std::vector<int64_t> order = batch, shape;
  order.insert(order.end(), only_left.begin(), only_left.end());
  order.insert(order.end(), only_right.begin(), only_right.end());
  std::vector<int64_t> place(size_t(left.dim()), 0);
  for (int64_t d : order) shape.push_back(left.size(d) != 1 ? left.size(d) : right.size(d));
  for (int64_t d = 0; d < left.dim(); ++d)
    if (std::find(order.begin(), order.end(), d) == order.end()) {
      order.push_back(d);
      shape.push_back(1);
    }
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = int64_t(i);
  return permute(reshape(product, shape), place);
}

}  // namespace

Tensor einsum_composite(std::string_view equation, TensorList operands) {
  TORCH_CHECK(operands.size() > 0, "einsum: expected at least one operand for \"", equation, "\"");
  const size_t arrow = equation.find("->");
  const std::string_view inputs = equation.substr(0, arrow);
  std::vector<std::vector<int>> labels;
  for (size_t at = 0;;) {
    const size_t comma = inputs.find(',', at);
    labels.push_back(parse(inputs.substr(at, comma == inputs.npos ? comma : comma - at), equation));
    if (comma == inputs.npos) break;
    at = comma + 1;
  }
  TORCH_CHECK(labels.size() == operands.size(), "einsum: \"", equation, "\" names ", labels.size(), " operands, but ",
              operands.size(), " were given");

  // Sizes of labels, and how many dims "..." stands for.
  std::array<int64_t, kLetters> size;
  std::array<int, kLetters> uses{};
  size.fill(-1);
  int64_t ellipsis = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool has = std::find(labels[i].begin(), labels[i].end(), kEllipsis) != labels[i].end();
    const int64_t named = int64_t(labels[i].size()) - has, rest = operands[i].dim() - named;
    TORCH_CHECK(has ? rest >= 0 : rest == 0, "einsum: operand ", i, " of \"", equation, "\" has ", named, " labels",
                has ? " and '...'" : "", ", but its shape is ", operands[i].sizes());
    ellipsis = std::max(ellipsis, has ? rest : 0);
    int64_t d = 0;
    for (int label : labels[i]) {
      if (label == kEllipsis) {
        d += rest;
        continue;
      }
      const int64_t n = operands[i].size(d++);
      int64_t& known = size[size_t(label)];
      TORCH_CHECK(known == -1 || known == 1 || n == 1 || known == n, "einsum: label '", letter_of(label),
                  "' of operand ", i, " ", operands[i].sizes(), " has size ", n, ", but ", known, " before, in \"",
                  equation, "\"");
      if (known == -1 || known == 1) known = n;
      ++uses[size_t(label)];
    }
  }

  std::vector<int> output;
  if (arrow != equation.npos) {
    output = parse(equation.substr(arrow + 2), equation);
    for (size_t i = 0; i < output.size(); ++i) {
      TORCH_CHECK(output[i] == kEllipsis || uses[size_t(output[i])] > 0, "einsum: output label '", letter_of(output[i]),
                  "' is in no operand of \"", equation, "\"");
      TORCH_CHECK(std::find(output.begin() + int64_t(i) + 1, output.end(), output[i]) == output.end(),
                  "einsum: output label '", letter_of(output[i]), "' stands twice in \"", equation, "\"");
    }
  } else {  // '...' and the labels that stand once, capitals first
    if (ellipsis > 0) output.push_back(kEllipsis);
    for (int c = 0; c < kLetters; ++c) {
      const int label = (c + 26) % kLetters;
      if (uses[size_t(label)] == 1) output.push_back(label);
    }
  }

  // The common order: dims of '...' and labels as the output has them, then the summed ones.
  std::array<int64_t, kLetters> place;
  place.fill(-1);
  int64_t dims = 0, ellipsis_at = -1;
  for (int label : output) {
    if (label == kEllipsis)
      ellipsis_at = dims, dims += ellipsis;
    else
      place[size_t(label)] = dims++;
  }
  const int64_t kept = dims;
  if (ellipsis_at < 0) ellipsis_at = dims, dims += ellipsis;
  for (int label = 0; label < kLetters; ++label)
    if (uses[size_t(label)] > 0 && place[size_t(label)] < 0) place[size_t(label)] = dims++;

  std::vector<Tensor> tensors;
  for (size_t i = 0; i < operands.size(); ++i) {
    Tensor t = operands[i];
    // A label that stands twice in an operand is its diagonal, which comes last.
    std::vector<int64_t> at;  // places of t's dims in the common order
    int64_t d = 0;
    const int64_t rest = operands[i].dim() - int64_t(labels[i].size()) + 1;
    for (int label : labels[i]) {
      if (label == kEllipsis) {
        for (int64_t e = 0; e < rest; ++e, ++d) at.push_back(ellipsis_at + ellipsis - rest + e);
        continue;
      }
      const int64_t where = place[size_t(label)];
      const auto before = std::find(at.begin(), at.end(), where);
      if (before == at.end()) {
        at.push_back(where);
        ++d;
        continue;
      }
      const int64_t first = before - at.begin();
      TORCH_CHECK(t.size(first) == t.size(d), "einsum: label '", letter_of(label), "' stands twice in operand ", i, " ",
                  operands[i].sizes(), " with different sizes, in \"", equation, "\"");
      t = movedim(diagonal(t, 0, first, d), IntArrayRef({-1}), IntArrayRef(&first, 1));
    }
    std::vector<int64_t> order, shape(size_t(dims), 1);
    for (int64_t p = 0; p < dims; ++p) {
      const auto own = std::find(at.begin(), at.end(), p);
      if (own == at.end()) continue;
      order.push_back(own - at.begin());
      shape[size_t(p)] = t.size(own - at.begin());
    }
    tensors.push_back(reshape(permute(t, order), shape));
  }

  Tensor out = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    std::vector<bool> needed(size_t(dims), false);
    for (int64_t d = 0; d < dims; ++d) {
      needed[size_t(d)] = d < kept;
      for (size_t later = i + 1; later < tensors.size(); ++later)
        needed[size_t(d)] = needed[size_t(d)] || tensors[later].size(d) != 1;
    }
    out = contract(out, tensors[i], needed);
  }
  if (dims > kept) {
    std::vector<int64_t> left, shape;
    for (int64_t d = kept; d < dims; ++d) left.push_back(d);
    // Products keep their dtype; a sum of one operand is that of sum().
    out = sum(out, IntArrayRef(left), false, tensors.size() > 1 ? std::optional<DType>(out.dtype()) : std::nullopt);
  }
  return out;
}

}  // namespace torch
