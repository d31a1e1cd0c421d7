/* The same from C, through the stable interface.
 *   predict_c net.pt */
#include <stdio.h>
#include <stdlib.h>

#include "torch/c/program.h"

static void check(torch_status status) {
  if (status == TORCH_OK) return;
  fprintf(stderr, "predict_c: %s\n", torch_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  torch_program* net;
  torch_tensor *x, *scores;
  torch_cell *arguments[2], *best, *pair, *item;
  float picture[64];
  const int64_t sizes[2] = {1, 64};
  int64_t i, digit;
  double score;
  torch_value value;

  if (argc != 2) return fprintf(stderr, "usage: predict_c ARCHIVE\n"), 2;
  check(torch_program_load(argv[1], &net));
  for (i = 0; torch_program_method(net, (int)i); ++i)
    printf("%s\n", torch_program_signature(net, torch_program_method(net, (int)i)));

  for (i = 0; i < 64; ++i) picture[i] = (float)i / 63;
  check(torch_from_memory(picture, 2, sizes, NULL, TORCH_FLOAT32, NULL, NULL, &x));
  check(torch_program_run_tensors(net, "forward", &x, 1, &scores, 1, NULL));
  for (i = 0; i < 10; ++i) printf("%.4f%c", ((const float*)torch_data(scores))[i], i < 9 ? ' ' : '\n');

  value = torch_value_tensor(x);
  check(torch_cell_of(&value, &arguments[0]));
  value = torch_value_int(2);
  check(torch_cell_of(&value, &arguments[1]));
  check(torch_program_run(net, "best", arguments, 2, &best));
  for (i = 0; i < torch_cell_size(best); ++i) {
    check(torch_cell_item(best, i, &pair));
    check(torch_cell_item(pair, 0, &item));
    check(torch_cell_to_int(item, &digit));
    torch_cell_release(item);
    check(torch_cell_item(pair, 1, &item));
    check(torch_cell_to_double(item, &score));
    torch_cell_release(item);
    torch_cell_release(pair);
    printf("%d: %.4f\n", (int)digit, score);
  }
  torch_cell_release(best);
  torch_cell_release(arguments[0]);
  torch_cell_release(arguments[1]);
  torch_release(scores);
  torch_release(x);
  torch_program_release(net);
  return 0;
}
