"""Turn records into changes of the true graph.

Records are decoded, judged, held and committed.

A step may be added for each of these. Decoding and judging look at one record alone; only
`event_times` weighs a record by others. What is refused becomes a dead letter with a reason, never
an error of the service.
"""
