// Dtypes without arithmetic: complex32 and the floats of 8 bits. Tensors of them carry DispatchKey::Stored, whose layer
// (stored.cpp) moves their elements as integers of the same size, converts, and refuses what is neither.
//
// The formats: E4M3FN and E5M2 are OFP8 of the Open Compute Project (2023), E8M0FNU is the scale of its MX formats
// (2023), the FNUZ ones have a bias greater by one, one NaN (0x80), no infinity and no negative zero
// (arXiv:2206.02915).
#pragma once
#include "iterate/iterate.h"

namespace torch {

// Integers of the same size, for moving elements.
constexpr DType bits_of(DType t) noexcept { return t == DType::Complex32 ? DType::Int32 : DType::UInt8; }

Loop decode_loop(DType from) noexcept;  // to wide_of(from)
Loop encode_loop(DType to) noexcept;    // from wide_of(to), rounded to nearest even

float decode_float8(DType t, uint8_t code) noexcept;
uint8_t encode_float8(DType t, float value) noexcept;

void register_stored();

}  // namespace torch
