"""The index of locations: stands where the paper has pivots and the kt-tree."""
