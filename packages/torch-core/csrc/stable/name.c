// A library with nothing but a name: extensions ask the loader for all of PyTorch's libraries, and use one of them.
extern const int torch_stable_name;
const int torch_stable_name = 0;
