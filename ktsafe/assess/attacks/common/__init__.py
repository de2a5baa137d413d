"""Parts that attacks share: cases, scores and results."""
