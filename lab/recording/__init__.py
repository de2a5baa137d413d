"""What must stay equal, byte for byte, while the program is taken apart and rebuilt."""
