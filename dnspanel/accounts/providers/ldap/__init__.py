"""Sign-in with a password that an LDAP server or Active Directory checks, with django-auth-ldap and python-ldap."""
