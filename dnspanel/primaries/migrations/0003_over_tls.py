import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('primaries', '0002_ixfr_or_not'),
    ]

    operations = [
        migrations.AddField(
            model_name='transferredzone',
            name='uses_tls',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='transferredzone',
            name='tls_names',
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=253), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name='transferredzone',
            name='tls_certificates',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='transferredzone',
            name='shows_certificate',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name='transferredzone',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ('shows_certificate', False), ('tls_certificates', ''), ('tls_names', []), ('uses_tls', False)
                    ),
                    models.Q(('uses_tls', True), models.Q(('tls_certificates', ''), ('tls_names', []), _negated=True)),
                    _connector='OR',
                ),
                name='transferred_tls_whole',
            ),
        ),
    ]
