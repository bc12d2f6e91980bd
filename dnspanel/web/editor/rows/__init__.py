"""What a row of the editor shows besides its RRset."""
