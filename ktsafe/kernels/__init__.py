"""Where compiled kernels are kept, and how they come with the program."""
