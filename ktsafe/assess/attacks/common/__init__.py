"""Parts that attacks share: cases, scores and results.

What two attacks need goes here, not from one attack into another. A change moves figures of all of
them: docs/results.md and docs/attacks.md show such figures.
"""
