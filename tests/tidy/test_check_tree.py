#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof that each rule of check_tree.py can fail, and that a clean tree passes."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import call_circles
import check_tree
import contract_pages
import filter_manual
import folder_order
import function_names
import include_circles
import out_words
import page_links

SPDX = "/* SPDX-License-Identifier: MIT */\n"


class Rules(unittest.TestCase):
    def complaints(self, rule, files):
        """What `rule` says of a tree with these files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            tree = check_tree.Tree(root)
            rule(tree)
            return tree.complaints

    def expect(self, rule, bad, good):
        self.assertTrue(self.complaints(rule, bad), f"{rule.__name__} lets {bad} pass")
        self.assertEqual(self.complaints(rule, good), [])

    def test_first_line(self):
        self.expect(check_tree.check_first_line, {"a.c": "int a;\n"}, {"a.c": SPDX})

    def test_top_sources(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("program.c", "lib/a.c", "README.md"):
                (pathlib.Path(root) / name).parent.mkdir(exist_ok=True)
                (pathlib.Path(root) / name).touch()
            tree = check_tree.Tree(root, has_top_sources=False)
            self.assertEqual([tree.name(path) for path in tree.files], ["README.md", "lib/a.c"])

    def test_columns(self):
        self.expect(check_tree.check_lengths, {"a.c": "x" * 101}, {"a.c": "x" * 100})
        self.expect(check_tree.check_lengths, {"a.c": "\t" * 12 + "x" * 5},
                    {"a.c": "\t" * 12 + "x" * 4})

    def test_trailing_blanks(self):
        self.expect(check_tree.check_lengths, {"a.c": "int a; \n"}, {"a.c": "int a;\n"})

    def test_file_length(self):
        self.expect(check_tree.check_lengths, {"a.c": "\n" * 801}, {"a.c": "\n" * 800})

    def test_base_names(self):
        self.expect(check_tree.check_base_names, {"a/x.c": "", "b/x.c": ""},
                    {"a/README.md": "", "b/README.md": "", "a/x.c": "",
                     "lib/include/rnic/compat/x.c": ""})

    def test_function_length(self):
        def function(lines):
            return "int f(void)\n{\n" + "\tg();\n" * (lines - 2) + "}\n"

        self.expect(check_tree.check_functions, {"a.c": function(71)}, {"a.c": function(70)})
        table = "static const int t[] = {\n" + "\t1,\n" * 200 + "};\n"
        self.assertEqual(self.complaints(check_tree.check_functions, {"a.c": table}), [])

    def test_folder_size(self):
        def folder(count):
            return {f"lib/x/f{i}.c": "" for i in range(count)}

        self.expect(check_tree.check_folders, folder(41), folder(40))
        self.assertEqual(self.complaints(check_tree.check_folders,
                                         {f"tests/f{i}.c": "" for i in range(41)}), [])

    def test_circles(self):
        def rule(tree):
            include_circles.check_circles(tree, exceptions)

        exceptions = []
        circle = {"lib/a.h": "", "lib/a.c": '#include "a.h"\n#include "x/b.h"\n',
                  "lib/b.h": '#include "c.h"\n', "lib/b.c": "", "lib/c.h": "",
                  "lib/c.c": '#include "a.h"\n'}
        chain = {**circle, "lib/c.c": '#include "c.h"\n'}
        self.expect(rule, circle, chain)
        exceptions = [("a reason", ["lib/a", "lib/b", "lib/c"])]
        self.expect(rule, chain, circle)
        exceptions = [("a reason", ["lib/a", "lib/b"]), ("another", ["lib/c"])]
        self.assertTrue(self.complaints(rule, circle))

    def test_folder_order(self):
        room = "lib/nic/engine/"
        files = {room + name: "" for name in [
            "objects/mr.h", "reliability/pace.h", "progress/qp_error.h", "responder/responder.h",
            "requester/retry.h", "datagrams/datagram.h", "verbs/qp.h", "engine.h",
            "engine_state.h"]}
        for user, used in [
                ("objects/mr.c", "reliability/pace.h"),
                ("reliability/pace.h", "progress/qp_error.h"),
                ("progress/qp_error.c", "responder/responder.h"),
                ("responder/responder.c", "requester/retry.h"),
                ("requester/retry.c", "responder/responder.h"),
                ("requester/retry.c", "datagrams/datagram.h"),
                ("datagrams/datagram.c", "verbs/qp.h"),
                ("verbs/qp.c", "engine.h"),
                ("engine_addresses.c", "objects/mr.h")]:
            self.expect(folder_order.check_folder_order,
                        {**files, room + user: f'#include "{room}{used}"\n'},
                        {**files, room + user: f'#include "{room}engine_state.h"\n'})
        for user, used in [
                ("verbs/qp.c", "datagrams/datagram.h"),
                ("requester/retry.c", "progress/qp_error.h"),
                ("engine.c", "engine.h"),
                ("engine.c", "verbs/qp.h"),
                ("engine_state.h", "reliability/pace.h"),
                ("verbs/qp.c", "verbs/qp.h")]:
            self.assertEqual(self.complaints(folder_order.check_folder_order, {
                **files, room + user: f'#include "{room}{used}"\n'}), [])

    def test_files_that_are_one_part(self):
        room = "daemon/device/"
        self.expect(folder_order.check_folder_order,
                    {room + "device.c": f'#include "{room}link/link_client.h"\n'},
                    {room + "device.c": f'#include "{room}device_state.h"\n'
                                        f'#include "{room}requests/session_teardown.h"\n'})

    def test_repeated_names(self):
        def files(count):
            text = "".join(f"static int f{i}(int a,\n\t\tint b)\n{{\n}}\n" for i in range(count))
            return {"lib/a.c": text, "daemon/b.c": text}

        limit = function_names.REPEATED_NAMES
        self.expect(function_names.check_repeated_names, files(limit), files(limit - 1))
        attribute = '__attribute__((format(printf, 1, 2))) static void f(void)\n{\n}\n'
        self.assertEqual(list(function_names.function_names(attribute)), ["f"])

    def test_filter_manual(self):
        code = """static const int call_filter_allowed[] = {SCMP_SYS(read), SCMP_SYS(close)};
static const struct { int call; } call_filter_refused[] = {{SCMP_SYS(open), EACCES}};
int f = SCMP_SYS(fcntl) + F_GETFL;
"""
        manual = """.\\" calls begin
.IP \\(bu 2
on descriptors: read,
close;
.\\" calls end
.\\" arguments begin
fcntl: F_GETFL
.\\" arguments end
.\\" refused begin
open (EACCES).
.\\" refused end
"""
        good = {filter_manual.FILTER: code, filter_manual.MANUAL: manual}
        for old, new in [("read,", ""), ("read,", "read, write,"), ("fcntl:", ""),
                         ("F_GETFL", "F_GETFL, F_SETOWN"), ("F_GETFL", ""), ("open ", "")]:
            self.expect(filter_manual.check_filter_manual,
                        {**good, filter_manual.MANUAL: manual.replace(old, new)}, good)
        self.expect(filter_manual.check_filter_manual, {**good, filter_manual.FILTER: ""}, good)

    def test_fence_manual(self):
        code = """static const int call_fence_refused[] = {SCMP_SYS(mount)};
static const int call_fence_uring[] = {SCMP_SYS(io_uring_setup)};
"""
        manual = """.\\" fence begin
.IP \\(bu 2
for mounts: mount;
.IP \\(bu 2
with --port socket: io_uring_setup.
.\\" fence end
"""
        good = {filter_manual.FENCE: code, filter_manual.MANUAL: manual}
        for old, new in [(" mount;", ";"), ("io_uring_setup", ""), ("mount;", "mount, chroot;")]:
            self.expect(filter_manual.check_fence_manual,
                        {**good, filter_manual.MANUAL: manual.replace(old, new)}, good)
        self.expect(filter_manual.check_fence_manual, {**good, filter_manual.FENCE: ""}, good)

    def test_page_links(self):
        self.expect(page_links.check_page_links, {"a/A.md": "see [it](b.c) and [more](https://c)"},
                    {"a/A.md": "see [it](b.c), [there](#be-low) and [them](../d.md#part-1)\n"
                               "## `Be` low!\n",
                     "a/b.c": "", "d.md": "# Part\n\n## Part\n"})
        self.expect(page_links.check_page_links, {"a.md": "[it](#below)\n## Beyond\n"},
                    {"a.md": "[it](#below)\n## Below\n"})
        self.expect(page_links.check_page_links,
                    {"a.md": "[it](b.md#part)", "b.md": "```\n# part\n```\n"},
                    {"a.md": "[it](b.md#part)", "b.md": "# Part\n"})

    def test_contract_files(self):
        self.expect(contract_pages.check_contract_files,
                    {"proto/shm/a.h": "", "proto/shm/README.md": "`b.h`"},
                    {"proto/shm/a.h": "", "proto/shm/README.md": "`a.h`", "lib/b.h": ""})
        self.expect(contract_pages.check_contract_files, {"proto/mad/a.def": ""}, {})

    def test_life_and_death(self):
        page, scenarios = contract_pages.LIFE_PAGE, contract_pages.SCENARIOS
        table = "## Life and death\n| | here |\n|---|---|\n| killed | The `kernel` acts. {} |\n"
        good = {page: table.format("`dies`, `unit/a.c`"), scenarios: "\ndies() {\n",
                "tests/unit/a.c": ""}
        for cell in ("`unit/a.c`, `lives`", "`dies`, `unit/b.c`", ""):
            self.expect(contract_pages.check_life_and_death,
                        {**good, page: table.format(cell)}, good)
        for text in ("", "## Life and death\n"):
            self.expect(contract_pages.check_life_and_death, {**good, page: text}, good)

    def test_words(self):
        self.expect(out_words.check_words, {"lib/a.c": "/* A nap. */\n"},
                    {"lib/a.c": "int snapshot, kidnaps;\n"})
        self.expect(out_words.check_words, {"README.md": "Datagrams leave in Trains.\n"},
                    {"README.md": "The restrained constraints.\n"})
        self.expect(out_words.check_words, {"lib/nic/a.c": "int end_nap;\n"},
                    {"lib/apis/rpc/a.c": "int settled;\n"})
        self.expect(out_words.check_words, {"lib/apis/rpc/a.c": "struct rpc_session;\n"},
                    {"daemon/device/a.c": "struct session;\n"})
        self.expect(out_words.check_words, {"tools/lab/a.h": "/* Sessions of two. */\n"},
                    {"lib/client/native/a.h": "/* Sessions of two. */\n"})

    def test_layers(self):
        for name, include in [
                ("proto/wire/a.c", '#include "lib/nic/base/list.h"'),
                ("proto/wire/a.c", "#include <unistd.h>"),
                ("lib/nic/engine/a.c", '#include "proto/shm/wqe.h"'),
                ("lib/nic/engine/a.c", "#include <sys/socket.h>"),
                ("lib/nic/engine/a.c", "#include <pthread.h>"),
                ("lib/wait/a.c", '#include "lib/nic/engine/engine.h"'),
                ("lib/client/native/a.c", '#include "lib/nic/engine/qp.h"'),
                ("lib/client/native/a.c", "#include <infiniband/verbs.h>"),
                ("lib/dropin/verbs/a.c", '#include "daemon/device/session/session.h"'),
                ("lib/dropin/guard/a.c", '#include "lib/client/native/refuse.h"'),
                ("lib/apis/rdma/a.c", '#include "lib/client/native/rnic_objects.h"'),
                ("daemon/shared/base/a.c", '#include "daemon/control/main/options.h"'),
                ("daemon/shared/base/a.c", '#include "daemon/device/device.h"'),
                ("daemon/control/server/a.c", '#include "daemon/device/device.h"'),
                ("daemon/device/a.c", '#include "daemon/control/clients/client.h"'),
                ("tools/rnicctl/a.c", '#include "daemon/shared/base/log.h"')]:
            with self.subTest(name=name, include=include):
                own = name.replace("a.c", "b.h")
                self.expect(check_tree.check_includes, {name: include + "\n"},
                            {name: f'#include "{own}"\n#include <string.h>\n'})

    def test_room_table(self):
        page = check_tree.ROOM_PAGE
        rows = [f"| `{room.rstrip('/')}` | "
                + ", ".join(f"`{target.rstrip('/')}`" for target in sorted(allowed - {room})) + " |"
                for room, allowed in check_tree.LAYERS]

        def table(rows):
            return "\n".join(["# Rooms", "", check_tree.ROOM_TABLE, "|---|---|", *rows, "", "End"])

        for bad in [[], rows[1:], rows[:1] + ["| `lib/nic` | `proto` |"] + rows[2:],
                    rows + ["| `lib/new` | nothing |"]]:
            self.expect(check_tree.check_room_table, {page: table(bad)}, {page: table(rows)})
        self.assertTrue(self.complaints(check_tree.check_room_table, {page: "# Rooms\n"}))

    def test_paths_from_the_repository(self):
        self.expect(check_tree.check_includes,
                    {"lib/wait/a.c": '#include "a.h"\n', "lib/wait/a.h": ""},
                    {"lib/wait/a.c": '#include "lib/wait/a.h"\n', "lib/wait/a.h": "",
                     "lib/include/rnic/b.h": '#include "c.h"\n', "lib/include/rnic/c.h": ""})

    def test_formatting_is_not_io(self):
        include = "#include <stdio.h>\n"
        self.expect(check_tree.check_includes, {"proto/a.c": include + "int x = printf(1);\n"},
                    {"proto/a.c": include + "int x = snprintf(1);\n"})

    def test_calls(self):
        self.expect(check_tree.check_calls, {"a.c": "strcpy(a, b);\n"},
                    {"a.c": '/* strcpy(a, b) */ x = "strcpy(a)"; my_strcpy(a);\n'})
        self.expect(check_tree.check_calls, {"tests/a.c": "usleep(1);\n"},
                    {"daemon/a.c": "usleep(1);\n"})

    def test_shell_sleeps(self):
        self.expect(check_tree.check_shell_sleeps, {"tests/a.sh": "sleep 1\n"},
                    {"tests/a.sh": "wait_for true\n", "tools/b.sh": "sleep 1\n"})

    def test_page_commands(self):
        self.expect(check_tree.check_page_commands, {"README.md": "    tools/none.sh\n"},
                    {"README.md": "    tools/a.sh\n", "tools/a.sh": ""})
        self.expect(check_tree.check_page_commands,
                    {"README.md": "", "doc/guide/a.md": "```sh\ntools/none.sh\n```\n"},
                    {"README.md": "", "doc/guide/a.md": "tools/none.sh\n"})

    def test_page_sizes(self):
        self.expect(check_tree.check_page_sizes, {"README.md": "a\n" * 151},
                    {"README.md": "a\n" * 150, "a/README.md": "a\n" * 151})
        self.expect(check_tree.check_page_sizes, {"doc/a/b.md": "a" * 131 + "\n"},
                    {"doc/a/b.md": "a" * 130 + "\n|" + "a" * 200 + "\n"})

    def test_engine_archive(self):
        bad = "#include <time.h>\nlong f(void) { return (long)time(0); }\n"
        good = "#include <string.h>\nvoid *f(void *a, long n) { return memset(a, 1, n); }\n"
        for text, is_good in ((bad, False), (good, True)):
            with tempfile.TemporaryDirectory() as build:
                source = pathlib.Path(build) / "a.c"
                source.write_text(text)
                compiler = shutil.which("cc") or shutil.which("clang")
                subprocess.run([compiler, "-O0", "-c", source, "-o", f"{build}/a.o"], check=True)
                archive = f"{build}/librnic_engine.a"
                subprocess.run(["ar", "rc", archive, f"{build}/a.o"], check=True)
                tree = check_tree.Tree(build)
                check_tree.check_engine_archive(tree, build)
                self.assertEqual(tree.complaints == [], is_good, tree.complaints)

    def compile(self, text, output, *options):
        compiler = shutil.which("cc") or shutil.which("clang")
        subprocess.run([compiler, "-O0", "-x", "c", "-", "-o", output, *options], check=True,
                       input=text, text=True)

    def test_programs(self):
        foreign = "int engine_run(void) { return 1; }\n"
        programs = {"program": ["librnic_engine.a"]}
        with tempfile.TemporaryDirectory() as build:
            tree = check_tree.Tree(build)
            check_tree.check_programs(tree, build, programs)
            self.assertEqual(tree.complaints, ["no program in the build tree"])
            self.compile("int main(void) { return 0; }\n", f"{build}/program")
            tree = check_tree.Tree(build)
            check_tree.check_programs(tree, build, programs)
            self.assertEqual(tree.complaints, ["no librnic_engine.a in the build tree"])
            self.compile(foreign, f"{build}/a.o", "-c")
            subprocess.run(["ar", "rc", f"{build}/librnic_engine.a", f"{build}/a.o"], check=True)
            tree = check_tree.Tree(build)
            check_tree.check_programs(tree, build, programs)
            self.assertEqual(tree.complaints, [])
            self.compile(foreign + "int main(void) { return engine_run(); }\n",
                         f"{build}/program")
            check_tree.check_programs(tree, build, programs)
            self.assertEqual(tree.complaints, ["program has engine_run() of librnic_engine.a"])

    def calls(self, files, exceptions=()):
        """What the rule of calls says of a build tree with the objects of these files."""
        with tempfile.TemporaryDirectory() as build:
            for name, text in files.items():
                path = pathlib.Path(build) / name
                output = path.parent / "CMakeFiles" / "library.dir" / (path.name + ".o")
                output.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
                self.compile(text, str(output), "-c")
            tree = check_tree.Tree(build)
            call_circles.check_build_calls(tree, build, list(exceptions))
            return tree.complaints

    def test_circles_of_calls(self):
        def function(name, callee):
            return f"int {callee}(void);\nint {name}(void) {{ return {callee}(); }}\n"

        circle = {"lib/client/a.c": function("fa", "fb"), "lib/client/b.c": function("fb", "fc"),
                  "lib/client/c.c": function("fc", "fa")}
        chain = {**circle, "lib/client/c.c": "int fc(void) { return 1; }\n"}
        units = ["lib/client/a", "lib/client/b", "lib/client/c"]
        self.assertEqual(self.calls(chain), [])
        self.assertEqual(len(self.calls(circle)), 1)
        self.assertEqual(self.calls(circle, [("a reason", units)]), [])
        self.assertEqual(len(self.calls(chain, [("a reason", units)])), 3)
        # No file of the product; a name of the C library; a symbol that two programs define.
        self.assertEqual(self.calls({"tests/a.c": "int f;\n"}),
                         ["no object files of the product in the build tree"])
        self.assertEqual(self.calls({"lib/a.c": function("read", "fb"),
                                     "lib/b.c": function("fb", "read")}), [])
        self.assertEqual(self.calls({"tools/a.c": function("fa", "fb"),
                                     "tools/b.c": function("fb", "fa"),
                                     "tools/c.c": "int fb(void) { return 1; }\n"}), [])

    def test_order_of_calls(self):
        low = "lib/nic/engine/objects/mr.c"
        high = "lib/nic/engine/verbs/qp.c"
        call = "int f(void);\nint g(void) { return f(); }\n"
        answer = "int f(void) { return 1; }\n"
        self.assertEqual(len(self.calls({low: call, high: answer})), 1)
        self.assertEqual(self.calls({low: answer, high: call}), [])

    def test_missing_archive(self):
        with tempfile.TemporaryDirectory() as build:
            tree = check_tree.Tree(build)
            check_tree.check_engine_archive(tree, build)
            self.assertTrue(tree.complaints)


if __name__ == "__main__":
    sys.exit(unittest.main())
