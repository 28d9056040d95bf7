#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_header_manuals.py: what header_manuals.py makes of a header: pages, links, errors and types.
It refuses a comment that does not say what the call does."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]

HEADER = """/* SPDX-License-Identifier: MIT */
/*
 * A header: it has calls. Every function returns 0 or a negative errno.
 */
#ifndef GUARD
#define GUARD

#ifdef __cplusplus
extern "C" {
#endif

#define RNIC_API
/* The most. */
#define MUCH 4

/* Things to count. */
struct thing {
	int count; /* how many */
};

/* ---- calls ---- */

/*
 * Counts a thing (once). `much` may be NULL; see rnic_free(). A line
 * .with a dot and \\0. -EINVAL, -ENOENT: no
 * such thing; try another. -ENOMEM. Other errors as of rnic_free().
 */
RNIC_API int rnic_count(struct thing *thing, const char *const much[MUCH],
			void *user);
RNIC_API void rnic_recount(void);

%s
RNIC_API void rnic_free(struct thing *thing);

static inline int rnic_twice(int n)
{
	return 2 * n; /* a body */
}

#define count	rnic_count
#define rdma_free rnic_free

#endif
"""


class HeaderManuals(unittest.TestCase):
    def make(self, comment="/* Frees a thing. */"):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "rnic").mkdir()
            (top / "rnic/a.h").write_text(HEADER % comment, encoding="utf-8")
            self.done = subprocess.run(
                [sys.executable, "-B", TREE / "tools/packaging/manuals/header_manuals.py",
                 "--include", top, "--output", top / "man3", "rnic/a.h=rnic-a"],
                capture_output=True, text=True, check=False)
            pages = {path.stem: path for path in (top / "man3").glob("*.3")}
            self.links = {name: path.readlink().stem for name, path in pages.items()
                          if path.is_symlink()}
            return {name: path.read_text(encoding="utf-8") for name, path in pages.items()}

    def test_pages_and_links(self):
        pages = self.make()
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(set(pages), {"rnic_a.h", "rnic_count", "rnic_recount", "count",
                                      "rnic_free", "rnic_twice"})
        self.assertEqual(self.links, {"rnic_recount": "rnic_count", "count": "rnic_count",
                                      "rnic_twice": "rnic_free"})

    def test_a_page(self):
        page = self.make()["rnic_count"]
        self.assertIn("rnic_count, count, rnic_recount \\- counts a thing\n", page)
        self.assertIn("\\fBint rnic_count(\\fP\\fBstruct thing *\\fP\\fIthing\\fP\\fB, \\fP"
                      "\\fBconst char *const \\fP\\fImuch\\fP\\fB[MUCH], \\fP", page)
        self.assertIn("\\fBvoid rnic_recount(\\fP\\fBvoid\\fP\\fB);\\fP", page)
        self.assertNotIn("RNIC_API", page)
        self.assertIn("Counts a thing (once). \\fImuch\\fR may be NULL; see \\fBrnic_free\\fR(3).",
                      page)
        self.assertIn("and \\e0.", page)
        self.assertIn(".SH RETURN VALUE\nEvery function returns 0 or a negative errno.\n", page)
        self.assertIn(".TP\n.BR \\-EINVAL \", \" \\-ENOENT\nno such thing; try another.\n", page)
        self.assertIn(".TP\n.BR \\-ENOMEM\nas of any call.\n.PP\nOther errors as of", page)
        self.assertIn("Things to count.\n.PP\n.EX\nstruct thing {\n    int count; /* how many */",
                      page)
        self.assertIn("The most.\n.PP\n.EX\n#define MUCH 4\n.EE", page)
        self.assertIn(".BR rnic_free (3),\n", page)

    def test_a_body_stays_out(self):
        page = self.make()["rnic_free"]
        self.assertIn("\\fBint rnic_twice(\\fP\\fBint \\fP\\fIn\\fP\\fB);\\fP", page)
        self.assertNotIn("a body", page)

    def test_roff_takes_no_text_for_a_request(self):
        text = "/* Frees. " + "long words and " * 5 + ".many 'of .them " * 9 + "*/"
        page = self.make(text)["rnic_free"]
        self.assertNotIn("\n.many", page)
        self.assertNotIn("\n.them", page)
        self.assertNotIn("\n'of", page)

    def test_a_comment_must_say_what_the_call_does(self):
        for comment in ("/* -EINVAL: no thing. */", "/* " + "word " * 30 + "*/"):
            self.make(comment)
            self.assertEqual(self.done.returncode, 1)
            self.assertIn("rnic_free", self.done.stderr)


if __name__ == "__main__":
    unittest.main()
