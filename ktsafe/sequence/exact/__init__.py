"""Equal neighbour counts inside every cohort: plans and how they are completed."""
