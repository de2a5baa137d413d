"""Files that the service and its commands read and write."""
