"""What the pages of all rooms share: layout, forms, rows, sorting, confirmation."""
