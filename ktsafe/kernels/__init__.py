"""Cache of compiled kernels, and kernels shipped with the program."""
