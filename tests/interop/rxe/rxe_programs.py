# SPDX-License-Identifier: MIT
"""The distribution's programs, and the samples, one end on rnicd and the other on rxe, by turns
the server."""

import json
import shlex
import subprocess
import time

SECONDS = 60     # what a program may take
PORT = 18515

PROGRAMS = [
    "ibv_rc_pingpong -c -n 300 -s 5000 -m 1024",
    "ibv_rc_pingpong -e -n 100 -s 100001 -m 4096",
    "ibv_uc_pingpong -n 300 -s 5000 -m 1024",
    "ibv_ud_pingpong -n 300 -s 1024",
    "ibv_srq_pingpong -n 300 -q 4",
    "ib_write_bw -F -s 65536 -n 200",
    "ib_read_bw -F -s 65536 -n 200",
    "ib_send_bw -F -s 65536 -n 200",
    "ib_atomic_bw -F -n 500",
    "ib_send_lat -F -c UD -s 1024 -n 300",
    "ib_send_lat -F -c UC -s 5000 -n 300",
    "ib_write_lat -F -s 8 -n 500",
    "ib_read_lat -F -s 5000 -n 200",
    "ib_send_lat -F -s 200 -n 500",
]

# Server and client, which meet by the connection manager at the server's address.
CM_PROGRAMS = [
    ("rping -s -a {} -C 200 -S 23 -V", "rping -c -a {} -C 200 -S 23 -V"),
    ("rping -s -a {} -C 20 -S 65535 -V", "rping -c -a {} -C 20 -S 65535 -V"),
    ("ucmatose -b {}", "ucmatose -s {}"),
    ("ucmatose -b {} -c 20 -C 2", "ucmatose -s {} -c 20 -C 2"),
    ("udaddy -b {} -c 10", "udaddy -s {} -c 10"),
    ("rdma_server -n 1 -s 1000000", "rdma_client -s 1000000 -c 2 {}"),
    ("rdma_server -a {} -n 1", "rdma_client -s 5001 -c 20 {}"),
    ("rdma_server_imm -a {} -n 1", "rdma_client_imm -s 5001 -c 20 {}"),
]


# At its end rping closes the channel on which its other thread may wait for one more event, which
# then ends the program with status 255.
RPING_RACE = "grep -A 1 'DISCONNECT EVENT' {} | grep -qx 'rdma_get_cm_event: Bad file descriptor'"


class Programs:
    """`launcher` is what starts a program on rnicd."""

    def __init__(self, launcher, guest, addresses):
        self.launcher = launcher
        self.guest = guest
        self.addresses = addresses

    def run_cm(self, programs, server, family):
        """A pair of CM_PROGRAMS. What is wrong."""
        client = next(peer for peer in self.addresses if peer != server)
        commands = {peer: shlex.split(program.format(self.addresses[server][family]))
                    for peer, program in zip((server, client), programs)}
        return self.run_pair(commands, server, {
            "rxe": lambda: self.guest_says("rdma resource show cm_id | grep -q LISTEN"),
            "rnicd": self.is_listening})

    def is_listening(self):
        """Whether a server of the connection manager waits at rnicd."""
        return any(row["state"] == "listening" for row in self.show("cm"))

    def show(self, what):
        """The rows that rnicctl shows."""
        run = self.launcher.index("--no-daemon") - 1
        control = [*self.launcher[:run], self.launcher[run].replace("rnic-run", "rnicctl"),
                   "show", "--json", *self.launcher[run + 2:], what]
        return json.loads(subprocess.check_output(control, text=True))[what]

    def run(self, program, server, gids):
        """gids: peer -> index of its IPv4 GID. What is wrong."""
        option = "-g" if program.startswith("ibv_") else "-x"
        commands = {peer: [*shlex.split(program), "-p", str(PORT), option, str(index)]
                    for peer, index in gids.items()}
        client = next(peer for peer in gids if peer != server)
        commands[client].append(self.addresses[server][4])
        listener = [*self.launcher[:self.launcher.index("exec") + 2],
                    "ss", "-Hltn", f"sport = :{PORT}"]
        return self.run_pair(commands, server, {
            "rxe": lambda: self.guest_says(f"netstat -ltn | grep -q :{PORT}"),
            "rnicd": lambda: subprocess.check_output(listener, text=True)})

    def run_pair(self, commands, server, listens):
        """commands: peer -> its program; listens: peer -> whether a server there is ready."""
        self.guest.run("rm -f /tmp/server.* /tmp/client.*")
        if server == "rxe":
            return self.run_with_server_in_guest(commands, listens["rxe"])
        return self.run_with_client_in_guest(commands, listens["rnicd"])

    def run_with_server_in_guest(self, commands, listens):
        self.start_in_guest("server", commands["rxe"])
        self.wait_until(lambda: listens() or self.guest_says("test -e /tmp/server.status"))
        client = subprocess.run([*self.launcher, *commands["rnicd"]], stdin=subprocess.DEVNULL,
                                timeout=SECONDS, capture_output=True, text=True, check=False)
        return self.judge(client.returncode, client.stdout + client.stderr, "server")

    def run_with_client_in_guest(self, commands, listens):
        with subprocess.Popen([*self.launcher, *commands["rnicd"]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as server:
            try:
                self.wait_until(lambda: server.poll() is not None or listens())
                self.start_in_guest("client", commands["rxe"])
                output, _ = server.communicate(timeout=SECONDS)
            finally:
                server.kill()
        return self.judge(server.returncode, output, "client")

    def start_in_guest(self, name, command):
        self.guest.run(f"(timeout {SECONDS} {shlex.join(command)} >/tmp/{name}.out 2>&1; "
                       f"echo $? >/tmp/{name}.status) &")

    def guest_says(self, command):
        return self.guest.ask("run", command)["status"] == 0

    @staticmethod
    def wait_until(condition):
        deadline = time.monotonic() + SECONDS
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)     # between two polls

    def judge(self, status, output, name):
        """Both must end well; the guest's words go to its console when it did not."""
        self.wait_until(lambda: self.guest_says(f"test -s /tmp/{name}.status"))
        if (not self.guest_says(f"grep -qx 0 /tmp/{name}.status")
                and not self.guest_says(RPING_RACE.format(f"/tmp/{name}.out"))):
            self.guest.run(f"cat /tmp/{name}.* >/dev/console")
            return [f"the {name} in the guest failed; its console says more", output[-2000:]]
        return [] if status == 0 else [f"status {status} of the other end: {output[-2000:]}"]
