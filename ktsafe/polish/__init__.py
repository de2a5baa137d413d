"""Taking back what a safe release does not need: trimming and annealing."""
