// Shared by the element-wise operators with parameters of their own (ops/pointwise.def).
#pragma once
#include "iterate/elementwise.h"

namespace torch {

extern LoopRow where_row;

void register_pointwise_arithmetic();
void register_pointwise_functions();
void register_pointwise_choice();

}  // namespace torch
