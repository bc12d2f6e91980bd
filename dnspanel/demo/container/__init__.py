"""What `docker-compose.yml` needs besides the panel itself."""
