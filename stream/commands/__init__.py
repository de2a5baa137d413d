"""One module per command of the `ktsafe` program."""
