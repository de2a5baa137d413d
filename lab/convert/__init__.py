"""The conversion of states of builds before 0.1.0."""
