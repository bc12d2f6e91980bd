"""Parts that all pages share: layout, forms, rows, sorting, confirmation."""
