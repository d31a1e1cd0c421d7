#pragma once

namespace torch {

void register_join_cat();
void register_join_repeat();
void register_join_pad();

}  // namespace torch
