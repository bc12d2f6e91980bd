"""Sign-in with a password of an LDAP server or Active Directory, by django-auth-ldap and python-ldap."""
