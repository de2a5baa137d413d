"""Commands that assess releases, and the demo."""
