"""Sign-in with passwords checked by an LDAP server or Active Directory, using django-auth-ldap and python-ldap."""
