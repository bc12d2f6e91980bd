"""Sign-in with the password of an LDAP server or an Active Directory; django-auth-ldap and python-ldap speak to it."""
