"""The parts of `docker-compose.yml` that aren't the panel itself."""
