"""A mail server that stores mails as files in a directory. It prints its port first.

Refuses addresses that begin with "nobody", and all mail while a file `broken` exists.
"""

import asyncio
import json
import pathlib
import sys

from aiosmtpd.smtp import SMTP

directory = pathlib.Path(sys.argv[1])


class Keeper:
    taken = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 5.1.1 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if (directory / "broken").exists():
            return "451 4.3.0 the disk is full, try again"
        Keeper.taken += 1
        name = f"{Keeper.taken:04d}"
        addresses = {"from": envelope.mail_from, "to": envelope.rcpt_tos}
        (directory / f"{name}.json").write_text(json.dumps(addresses))
        (directory / f"{name}.part").write_bytes(envelope.content)
        (directory / f"{name}.part").rename(directory / f"{name}.eml")
        return f"250 2.0.0 queued as {name}"


async def main():
    loop = asyncio.get_running_loop()
    keeper = Keeper()
    server = await loop.create_server(lambda: SMTP(keeper, hostname="mail.test"), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
