// One function per family fills the family's slots; registry.cpp calls them all from torch::init().
#pragma once

namespace torch {

void register_copy();
void register_unary();
void register_binary();
void register_pointwise();
void register_special();
void register_activation();
void register_conv();
void register_question();
void register_softmax();
void register_norm();
void register_loss();
void register_embedding();
void register_pooling();
void register_unpooling();
void register_resample();
void register_matmul();
void register_contraction();
void register_linalg();
void register_random();
void register_view();
void register_create();
void register_join();
void register_index();
void register_reduce();
void register_sort();
void register_fft();
void register_stft();
void register_sparse();  // after the others: it admits sparse tensors to some of their composites

}  // namespace torch
