"""Tests of images and docker-compose.yml in a real Docker engine."""
