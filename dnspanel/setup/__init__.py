"""`dnspanel setup`: make a panel in production from the Debian package, or repair one."""
