"""Files of whole networks: what each format says is read, or the file is refused by its name."""
