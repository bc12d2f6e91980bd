"""The services in `docker-compose.yml` other than the panel itself."""
