"""Networks in memory: graphs of other libraries, and data frames."""
