"""What operators see: metrics, status, diagnosis."""
