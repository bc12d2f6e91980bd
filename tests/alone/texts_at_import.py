"""Imports all modules, and prints each call for a translated text during the imports."""

import importlib
import pkgutil
import traceback

import django
from django.urls import get_resolver

import dnspanel
import replication
from dnspanel import texts
from replication import message_texts as texts_of_nodes


def caught(of):
    def answer(*texts_of, **named):
        stack = [frame for frame in traceback.extract_stack()[:-1] if "importlib" not in frame.filename]
        print(f"{stack[-1].filename}:{stack[-1].lineno}: {texts_of[0]}")
        return of(*texts_of, **named)

    return answer


for module in (texts, texts_of_nodes):
    module.gettext, module.ngettext = caught(module.gettext), caught(module.ngettext)
django.setup()
_ = get_resolver().url_patterns
packages = (pkgutil.walk_packages(each.__path__, f"{each.__name__}.") for each in (dnspanel, replication))
for module in (module for package in packages for module in package):
    if not any(part in module.name for part in (".migrations", ".management", "__main__")):
        importlib.import_module(module.name)
