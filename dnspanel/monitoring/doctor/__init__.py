"""`dnspanel doctor`: check an installation, and report what is wrong and what to do about it."""
