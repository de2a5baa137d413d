"""From a record to a change of the true graph: decode, judge, hold, commit."""
