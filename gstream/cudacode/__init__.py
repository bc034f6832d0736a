"""The GPU's back end: programs printed as CUDA C++ around the kernels of cuda/."""
