// The layer of tensors whose dtype has no arithmetic (stored.h): what happens to a call that has one among its
// arguments, or asks for such a dtype.
#include "stored/stored.h"

#include <string>

#include "dispatch/plain_form.h"
#include "iterate/elementwise.h"
#include "torch/core/layer.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

const Tensor& tensor_in(const Value& v) { return reinterpret_cast<const Tensor&>(v.tensor); }
Tensor retagged(const Tensor& t, DType dtype) {
  Tensor r = alias_of(t, true);
  r->dtype = dtype;
  r->keys = Keys((r->keys & ~key(DispatchKey::Stored)) | dtype_key(dtype));
  return r;
}

// The call in other words: tensors of stored dtypes, and the dtype that is asked for, replaced.
struct Call {
  Value values[kMaxParameters];
  std::vector<Tensor> held, lists[2];

  template <class F>
  Call(const Row& row, const Value* given, F replace) {
    held.reserve(size_t(row.schema.count));
    int list = 0;
    for (int i = 0; i < row.schema.count; ++i) {
      values[i] = given[i];
      const Kind k = row.schema.params[i].kind;
      if (k == Kind::Tensor && given[i].tensor && is_stored(tensor_in(given[i]).dtype())) {
        held.push_back(replace(tensor_in(given[i])));
        values[i].tensor = held.back().get();
      } else if (k == Kind::TensorList && list < 2) {
        const Tensor* all = static_cast<const Tensor*>(given[i].data);
        for (int64_t j = 0; j < given[i].size; ++j)
          lists[list].push_back(all[j] && is_stored(all[j].dtype()) ? replace(all[j]) : all[j]);
        values[i].data = lists[list++].data();
      }
    }
  }
};

// What is stored in a call: the dtype, and whether all tensors of elements have it.
struct Kinds {
  std::optional<DType> stored, asked;
  // `widens`: another dtype takes part that does not fit into the stored one. One of no dims does not count beside
  // tensors that have some, nor does a number of Python.
  bool mixed = false, others = false, widens = false, has_grad = false;

  Kinds(const Row& row, const Value* given) {
    for (int i = 0; i < row.schema.count; ++i) {
      const Parameter& p = row.schema.params[i];
      if (p.kind == Kind::DType && given[i].present) asked = DType(given[i].i);
      const bool list = p.kind == Kind::TensorList;
      if (p.kind != Kind::Tensor && !list) continue;
      const Tensor* all = list ? static_cast<const Tensor*>(given[i].data) : &tensor_in(given[i]);
      const std::string_view name = row.schema.view(p.name);
      const bool is_place = name == "index" || name == "indices" || name == "mask" || name == "condition";
      for (int64_t j = 0; j < (list ? given[i].size : 1); ++j)
        if (all[j] && !is_place) look(all[j]);
    }
    widens |= numbers_widen && !has_dims;
  }

 private:
  bool has_dims = false, numbers_widen = false;

  void look(const Tensor& t) {
    has_grad |= t.requires_grad();
    if (is_stored(t.dtype())) {
      mixed |= stored && *stored != t.dtype();
      stored = t.dtype();
      has_dims |= t.dim() > 0;
      return;
    }
    others = true;
    const bool wide = is_complex(t.dtype()) || (is_floating(t.dtype()) && t.dtype() != DType::Float16);
    if (t.dim() > 0)
      widens |= wide;
    else if (!t.is_wrapped_number())
      numbers_widen |= wide;
  }
};

[[noreturn]] void refuse(const Row& row, DType t) {
  const std::string_view op = row.schema.op_name();
  throw_error(ErrorKind::NotImplemented,
              message(op, ": not implemented for ", t, ", which only stores numbers; convert with .to(", wide_of(t),
                      ") first"));
}

void set_dtype(const Row& row, Value* values, DType t) {
  for (int i = 0; i < row.schema.count; ++i)
    if (row.schema.params[i].kind == Kind::DType) {
      values[i].i = int64_t(t);
      values[i].present = true;
    }
}

bool writes_first(const Row& row) { return row.schema.count && row.schema.params[0].written; }

void wide(const Row& row, const Value* given, const Kinds& kinds, Result& result) {
  const DType t = kinds.stored ? *kinds.stored : *kinds.asked;
  if (kinds.mixed || (kinds.widens && t != DType::Complex32))
    throw_error(ErrorKind::Runtime, message(row.schema.op_name(), ": Promotion for Float8 Types is not supported, of ",
                                            t, " and another dtype; convert with .to(...) first"));
  Call call(row, given, [&](const Tensor& x) { return _to_copy(x, wide_of(x.dtype())); });
  if (kinds.asked && is_stored(*kinds.asked)) set_dtype(row, call.values, wide_of(*kinds.asked));
  row.invoke(call.values, result);
  const DType to = kinds.asked.value_or(t);
  if ((kinds.widens && !kinds.asked) || !is_stored(to)) return;
  const auto narrow = [to](Tensor& r) {
    if (r && (r.dtype() == wide_of(to) || (to == DType::Complex32 && r.dtype() == DType::Float32)))
      r = _to_copy(r, r.dtype() == wide_of(to) ? to : DType::Float16);
  };
  for (Tensor& r : result.tensors) narrow(r);
  for (Tensor& r : result.list) narrow(r);
  if (writes_first(row) && kinds.stored) result.tensors[0] = copy_(tensor_in(given[0]), result.tensors[0]);
}

// complex32 stands for complex64, rounded, wherever a row does not say more; floats of 8 bits have no arithmetic.
Stored way_of(const Row& row, DType t) {
  const Row* plain = writes_first(row) ? plain_form(row) : nullptr;
  Stored way = row.attr.when_stored;
  if (way == Stored::Refused && plain && plain->attr.when_stored >= Stored::Wide) way = plain->attr.when_stored;
  if (way != Stored::Refused) return way;
  const bool moves = row.attr.is_view || row.attr.memory == Memory::Exchanged || row.attr.memory == Memory::Rearranged;
  return moves ? Stored::Below : t == DType::Complex32 ? Stored::Complex : Stored::Refused;
}

void layer(const Row& row, const Value* given, Result& result) {
  Readmit inner(DispatchKey::Stored);
  const Kinds kinds(row, given);
  if (!kinds.stored && !kinds.asked) return row.invoke(given, result, keys_below(DispatchKey::Stored));
  const DType t = kinds.stored ? *kinds.stored : kinds.asked.value_or(DType::Float32);
  const std::string_view op = row.schema.op_name();
  const Stored way = way_of(row, t);
  switch (way) {
    case Stored::Refused:
      refuse(row, t);
    case Stored::Below:
      return row.invoke(given, result, keys_below(DispatchKey::Stored));
    case Stored::Move: {
      if (kinds.others && t == DType::Complex32) return wide(row, given, kinds, result);
      if (kinds.mixed || kinds.others)
        throw_error(ErrorKind::Runtime, message(op, ": all tensors of elements must have dtype ", t,
                                                ", as one of them has; convert the others"));
      bool adds = false;
      for (int i = 0; i < row.schema.count; ++i)
        adds |= row.schema.view(row.schema.params[i].name) == "accumulate" && given[i].i;
      if (adds && t != DType::Complex32) refuse(row, t);
      if (adds || kinds.has_grad) return wide(row, given, kinds, result);
      Call call(row, given, [&](const Tensor& x) { return retagged(x, bits_of(t)); });
      row.invoke(call.values, result);
      for (Tensor& r : result.tensors)
        if (r && r.dtype() == bits_of(t)) r = writes_first(row) ? tensor_in(given[0]) : retagged(r, t);
      return;
    }
    case Stored::Bits:
    case Stored::Make:
    case Stored::Draw: {
      const DType to = kinds.asked.value_or(t), with = way == Stored::Bits ? bits_of(to) : wide_of(to);
      if (way == Stored::Draw && to != DType::Complex32) refuse(row, to);
      Call call(row, given, [&](const Tensor& x) { return retagged(detach(x), bits_of(x.dtype())); });
      set_dtype(row, call.values, is_stored(to) ? with : to);
      row.invoke(call.values, result);
      if (!is_stored(to)) return;
      result.tensors[0] = way == Stored::Bits ? retagged(result.tensors[0], to) : _to_copy(result.tensors[0], to);
      return;
    }
    case Stored::Fill: {
      const Tensor& self = tensor_in(given[0]);
      if (row.schema.count > 1 && row.schema.params[1].kind == Kind::Tensor) {
        TORCH_CHECK(tensor_in(given[1]).dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
                    tensor_in(given[1]).dim(), " dimensions");
        result.tensors[0] = copy_(self, tensor_in(given[1]));
        return;
      }
      const Scalar value =
          row.schema.count > 1 ? detail::unbox<const Scalar&, Kind::Scalar, false>(given[1]) : Scalar(0);
      if (row.schema.count == 1 && !self.requires_grad()) {  // of E8M0FNU no number is zero: all bits are
        zero_(retagged(self, bits_of(t)));
        result.tensors[0] = self;
        return;
      }
      TORCH_CHECK(!value.is_complex() || is_complex(wide_of(t)), "fill_: value ", value, " cannot be converted to ", t,
                  " without overflow");
      result.tensors[0] = copy_(self, _to_copy(scalar_tensor_of(value, wide_of(t)), std::nullopt, self.device()));
      return;
    }
    case Stored::Complex:
      if (t != DType::Complex32) refuse(row, t);
      [[fallthrough]];
    case Stored::Wide:
      return wide(row, given, kinds, result);
  }
}

}  // namespace

void no_arithmetic(DType t) {
  throw_error(ErrorKind::NotImplemented,
              message(t, " only stores numbers: no kernel computes in it; convert with .to(", wide_of(t), ") first"));
}

void register_stored() { set_layer(DispatchKey::Stored, layer); }

}  // namespace torch
