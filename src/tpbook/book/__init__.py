"""What the chapters need to be executed, displayed and checked as a book."""
