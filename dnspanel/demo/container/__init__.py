"""The parts of `docker-compose.yml` that are not the panel itself."""
