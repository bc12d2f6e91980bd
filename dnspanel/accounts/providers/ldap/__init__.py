"""Sign-in with a password that an LDAP server or Active Directory checks, by django-auth-ldap and python-ldap."""
