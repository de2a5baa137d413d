"""Assessment of releases: attacks, reports, advice; the extra `ktsafe[assess]`."""
