"""The parts of `docker-compose.yml` other than the panel itself."""
