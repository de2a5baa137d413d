"""One data set anonymized under many parameters, side by side: `ktsafe-lab compare`."""
