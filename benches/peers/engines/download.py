"""Downloads a file and keeps it only if it is the expected one: python download.py URL SHA256 FILE"""

import hashlib
import pathlib
import sys
import urllib.request

url, digest, file = sys.argv[1:]
with urllib.request.urlopen(url, timeout=120) as answer:
    content = answer.read()
found = hashlib.sha256(content).hexdigest()
if found != digest:
    sys.exit(f"{url} has changed: its SHA-256 is {found} instead of {digest}")
pathlib.Path(file).write_bytes(content)
