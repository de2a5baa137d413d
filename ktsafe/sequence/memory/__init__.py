"""What a sequence remembers: tables, pages, the true graph, changes."""
