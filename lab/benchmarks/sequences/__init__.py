"""Networks that change, and the figures of what is published of them."""
