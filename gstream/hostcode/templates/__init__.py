"""Page and vertex kernels as text: the generated module of a program is its methods, then these files' kernels.

Each file is an ordinary module (linted, typed, importable) that takes the program's functions from `methods`. In a
generated module everything above the line `# kernels` is replaced by the program's own functions, because Numba can't
cache a kernel that closes over another program's compiled functions.
"""
