"""What is checked before a release of a sequence may go out."""
