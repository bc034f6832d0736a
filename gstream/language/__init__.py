"""What a program may say, and how it becomes Python and CUDA C++."""
