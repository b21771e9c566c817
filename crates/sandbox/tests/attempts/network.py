"""Ways out over sockets."""

import os
import socket
import struct

from attempt import Blocked, Escaped, every, syscall

FAMILIES = {"AX25": 3, "IPX": 4, "APPLETALK": 5, "NETROM": 6, "X25": 9, "KEY": 15, "NETLINK": 16, "PACKET": 17,
            "ECONET": 19, "ATMSVC": 20, "RDS": 21, "PPPOX": 24, "LLC": 26, "IB": 27, "MPLS": 28, "CAN": 29, "TIPC": 30,
            "BLUETOOTH": 31, "IUCV": 32, "RXRPC": 33, "ISDN": 34, "PHONET": 35, "IEEE802154": 36, "CAIF": 37, "ALG": 38,
            "NFC": 39, "VSOCK": 40, "KCM": 41, "QIPCRTR": 42, "SMC": 43, "XDP": 44, "MCTP": 45}
KINDS = {"stream": 1, "datagram": 2, "raw": 3, "seqpacket": 5}


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as connection:
        connection.settimeout(5)
        connection.connect(address)
        connection.send(b"hello")


# Addresses.


def tcp(scene):
    hosts = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"]
    every([(host, lambda host=host: connect(socket.AF_INET, (host, scene.tcp))) for host in hosts]
          + [(host, lambda host=host: connect(socket.AF_INET6, (host, scene.tcp)))
             for host in ["::1", "::ffff:127.0.0.1", "::"]])


def udp(scene):
    """Only an answer would show that it arrived; the server listens."""
    def send(host):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect((host, scene.udp))
            for _ in range(3):
                sender.send(b"hello")
        raise Blocked("not heard")
    every((host, lambda host=host: send(host)) for host in ["127.0.0.1", "127.255.255.255", "0.0.0.0"])


def outside(_):
    """Addresses that are reserved for documentation: nobody is there, but there must not even be a way."""
    every([
        ("TCP", lambda: connect(socket.AF_INET, ("192.0.2.1", 80))),
        ("UDP", lambda: connect(socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM)),
        ("TCP 6", lambda: connect(socket.AF_INET6, ("2001:db8::1", 80))),
        ("metadata", lambda: connect(socket.AF_INET, ("169.254.169.254", 80))),
        ("multicast", lambda: connect(socket.AF_INET, ("224.0.0.251", 5353), socket.SOCK_DGRAM)),
    ])


def names(_):
    """No resolver answers, not even that there is no such name."""
    every((name, lambda name=name: socket.getaddrinfo(name, 80)) for name in ["innkeeper.invalid", "a.b.invalid"])


def resolvers(_):
    """The doors by which the C library and others ask the host."""
    places = ["/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/dbus/system_bus_socket",
              "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
              "/run/user/0/bus", "/run/user/1000/bus", "/tmp/.X11-unix/X0", "/run/snapd.socket", "/dev/log",
              "/run/systemd/private", "/run/udev/control"]
    every((place, lambda place=place: connect(socket.AF_UNIX, place)) for place in places)


def only_loopback(_):
    with open("/proc/self/net/dev") as devices:
        names_seen = [line.split(":")[0].strip() for line in devices if ":" in line]
    if set(names_seen) - {"lo"}:
        raise Escaped("sees %s" % names_seen)
    raise Blocked("only lo")


# Sockets of every kind.


def uncounted_protocols(_):
    """Datagrams and streams that no list of sockets shows."""
    every([
        ("UDP-Lite", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)),
        ("UDP-Lite 6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, 136)),
        ("MPTCP", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)),
        ("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)),
    ])


def raw(_):
    every([
        ("ICMP", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
        ("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)),
        ("raw 6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)),
        ("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)),
        ("packet datagram", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 3)),
    ])


def netlink(_):
    every((str(protocol), lambda protocol=protocol, kind=kind: socket.socket(16, kind, protocol))
          for protocol in range(0, 23) for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM))


def vsock(_):
    """A network namespace does not hold these back: they lead to the machine's host."""
    def dial(kind, address):
        with socket.socket(40, kind) as connection:
            connection.settimeout(5)
            connection.connect(address)
    every([("stream", lambda: socket.socket(40, 1)), ("datagram", lambda: socket.socket(40, 2)),
           ("seqpacket", lambda: socket.socket(40, 5)), ("host", lambda: dial(1, (2, 1))),
           ("by number", lambda: syscall("socket", 40, 1, 0)),
           ("with flags", lambda: syscall("socket", 40, 1 | 0o2000000 | 0o4000, 0)),
           ("with high bits", lambda: syscall("socket", 40 | 1 << 32, 1, 0))])


def kernel_crypto(_):
    every((str(kind), lambda kind=kind: socket.socket(38, kind, 0)) for kind in [1, 2, 5])


def other_families(_):
    every(("%s %s" % (family, kind), lambda number=number, kind=kind: syscall("socket", number, KINDS[kind], 0))
          for family, number in FAMILIES.items() for kind in KINDS)


def families_to_come(_):
    every((str(number), lambda number=number: syscall("socket", number, 1, 0)) for number in range(46, 96))


def other_protocols(_):
    """Streams beside TCP; if they may be had at all they lead nowhere."""
    def use(kind, protocol):
        with socket.socket(socket.AF_INET, kind, protocol) as connection:
            connection.settimeout(5)
            connection.connect(("192.0.2.1", 80))
    every((name, lambda kind=kind, protocol=protocol: use(kind, protocol))
          for name, kind, protocol in [("MPTCP", 1, 262), ("SCTP", 1, 132), ("DCCP", 6, 33), ("UDP-Lite", 2, 136),
                                       ("ping", 2, 1), ("SMC", 1, 256)])


def configure(_):
    """Its own network may not be changed, either."""
    import fcntl
    def ask(request, name=b"lo"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, request, struct.pack("16sH22s", name, 1, b""))
    every([
        ("address", lambda: ask(0x8916)),
        ("up", lambda: ask(0x8914)),
        ("bridge", lambda: ask(0x89a0, b"br0")),
        ("tunnel", lambda: os.open("/dev/net/tun", os.O_RDWR)),
    ])


# Sockets with a name.


def abstract_socket(scene):
    every([
        ("stream", lambda: connect(socket.AF_UNIX, b"\0" + scene.abstract.encode())),
        ("datagram", lambda: connect(socket.AF_UNIX, b"\0" + scene.abstract.encode() + b"-datagram", socket.SOCK_DGRAM)),
    ])


def socket_of_the_server(scene):
    connect(socket.AF_UNIX, scene.home + "/service.sock")


# Past the proxy.


def proxy_address():
    text = os.environ["HTTP_PROXY"].split("://")[-1].rstrip("/")
    host, port = text.split("@")[-1].rsplit(":", 1)
    return host.strip("[]"), int(port)


def ask_proxy(request):
    """The status that the proxy gives, or how it ends the talk."""
    with socket.create_connection(proxy_address(), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while b"\r\n" not in answer and (piece := connection.recv(4096)):
            answer += piece
    if not answer:
        raise Blocked("closed")
    return answer.split(b"\r\n")[0].decode("latin-1")


def refused(request):
    line = ask_proxy(request)
    status = line.split()[1] if len(line.split()) > 1 else line
    if status.startswith(("2", "3")):
        raise Escaped("%s -> %s" % (request[:60], line))
    raise Blocked(status)


def past_the_proxy(scene):
    """The proxy is there, but everything else is as without."""
    every([("TCP", lambda: tcp(scene)), ("outside", lambda: outside(scene)), ("names", lambda: names(scene))])


def proxy_to_this_machine(scene):
    """All the ways to write the address of this machine, or of its network."""
    hosts = ["127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0",
             "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
             "127.0.0.1.", "127.0.0.1%00.api.example.com", "127.0.0.1#.api.example.com", "api.example.com@127.0.0.1",
             "api.example.com:80@127.0.0.1", "%31%32%37.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1"]
    port = scene.tcp
    tries = []
    for host in hosts:
        tries.append(("CONNECT " + host, "CONNECT %s:%d HTTP/1.1\r\nHost: api.example.com\r\n\r\n" % (host, port)))
        tries.append(("GET " + host, "GET http://%s:%d/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n" % (host, port)))
    every((label, lambda request=request: refused(request.encode())) for label, request in tries)


def proxy_to_other_hosts(_):
    """Names that look like a granted one."""
    hosts = ["example.com", "evil-api.example.com.invalid", "api.example.com.evil.invalid", "xapi.example.com",
             "api.example.community", "apiXexample.com", "evil.invalid", "api.example.com\tevil.invalid",
             "sub.api.example.com", "*", "*.example.com", "api.example.com%2eevil.invalid"]
    every((host, lambda host=host: refused(b"CONNECT %s:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n" % host.encode()))
          for host in hosts)


def proxy_to_other_ports(_):
    every((str(port), lambda port=port: refused(b"CONNECT api.example.com:%d HTTP/1.1\r\n\r\n" % port))
          for port in [0, 1, 22, 25, 81, 8080, 65536, 4295016976])


def proxy_confused(scene):
    """Requests that two readers would read differently."""
    inner = b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % scene.tcp
    requests = {
        "not HTTP": b"\x00\xff\x16\x03\x01" * 50 + b"\r\n\r\n",
        "SOCKS 4": b"\x04\x01" + struct.pack(">H", scene.tcp) + b"\x7f\0\0\1\0\r\n\r\n",
        "relative": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % scene.tcp,
        "file": b"GET file:///etc/passwd HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "unix": b"GET unix:///run/docker.sock HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "bare newline": b"CONNECT 127.0.0.1:%d HTTP/1.1\n\n" % scene.tcp,
        "two hosts": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: api.example.com\r\nHost: 127.0.0.1\r\n\r\n" % scene.tcp,
        "endless head": b"GET http://api.example.com/ HTTP/1.1\r\n" + b"X: y\r\n" * 200000,
        "endless line": b"GET http://" + b"a" * 2000000,
        "length and chunks": b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked"
                             b"\r\n\r\n0\r\n\r\n" % scene.tcp + inner,
    }

    def send(request):
        try:
            refused(request)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Blocked("closed") from error
    every((name, lambda request=request: send(request)) for name, request in requests.items())


def proxy_by_private_name(scene):
    """`localhost` was granted, but no address of this machine."""
    every([
        ("CONNECT", lambda: refused(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % scene.tcp)),
        ("GET", lambda: refused(b"GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n" % scene.tcp)),
        ("address", lambda: refused(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % scene.tcp)),
    ])


def proxy_allowed(scene):
    """Not an attempt: what was granted can be had, so the others fail for their own reasons."""
    line = ask_proxy(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (scene.tcp, scene.tcp))
    if " 200" not in line:
        raise Blocked(line)
