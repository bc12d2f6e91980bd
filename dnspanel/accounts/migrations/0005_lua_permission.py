"""Give tokens with every permission the new one for LUA records, so that they can still do what their owners can."""

from django.db import migrations

_OTHERS = [
    "see zones",
    "see nodes",
    "edit, publish, create and delete zones",
    "enroll and change nodes",
    "invite people and change roles",
    "read the audit log",
    "reveal TSIG key secrets again (own keys only)",
    "approve and decline requests with a token",
]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_session_of_acts")]

    operations = [
        migrations.RunSQL(
            [
                (
                    "UPDATE accounts_token"
                    " SET permissions = permissions || 'publish LUA records, which run code on nodes'::varchar"
                    " WHERE permissions @> %s::varchar[]",
                    [_OTHERS],
                )
            ],
            migrations.RunSQL.noop,
        )
    ]
