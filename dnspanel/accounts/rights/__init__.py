"""Change grants and custom roles, and select the users and teams that a user can choose from."""
