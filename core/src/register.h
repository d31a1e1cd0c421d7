// One function per family fills the family's slots; registry.cpp calls them all from torch::init().
#pragma once

namespace torch {

void register_pointwise();
void register_matmul();

}  // namespace torch
