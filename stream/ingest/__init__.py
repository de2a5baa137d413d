"""Turn records into changes of the true graph.

Records are decoded, judged, held and committed.
"""
