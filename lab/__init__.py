"""The laboratory: its wheel is `ktsafe_lab`; evaluation, benchmarks and trials run from here."""
