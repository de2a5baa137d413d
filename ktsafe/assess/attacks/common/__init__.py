"""What attacks have in common: cases, scores and results."""
