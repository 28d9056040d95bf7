/* SPDX-License-Identifier: MIT */
/*
 * script_runner [--verbose] FILE...      runs scripts; exits 1 when one fails
 * script_runner --must-fail FILE...      the runner's own test: each script must fail, and its
 *                                        output must hold the text of every "# complains:" line
 */
#include "tests/script/script_parser.h"
#include "tests/script/script_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 65536
#define COMPLAINS      "# complains: "

static bool read_file(const char *path, char *text, size_t *length)
{
	FILE *file = fopen(path, "r");
	bool is_read;

	if (file == NULL) {
		perror(path);
		return false;
	}
	*length = fread(text, 1, FILE_BYTES_MAX, file);
	is_read = ferror(file) == 0 && *length < FILE_BYTES_MAX;
	fclose(file);
	if (!is_read)
		fprintf(stderr, "%s: expected a text of less than %d bytes\n", path,
			FILE_BYTES_MAX);
	text[is_read ? *length : 0] = '\0';
	return is_read;
}

/* The name without its folders, as complaints show it. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool run_text(const char *name, const char *text, size_t length, bool is_verbose, FILE *out)
{
	struct script_error error;
	struct script script;
	bool is_right;

	if (!script_parse(name, text, length, &script, &error)) {
		fprintf(out, "%s:%u: %s\n", name, error.line, error.text);
		return false;
	}
	is_right = script_run(&script, is_verbose, out);
	script_fini(&script);
	return is_right;
}

/*
 * Whether `output` holds the text of every "# complains:" line of the script; there is at least
 * one.
 */
static bool has_complaints(const char *name, const char *text, const char *output)
{
	const char *at = text;
	uint32_t count = 0;

	while ((at = strstr(at, COMPLAINS)) != NULL) {
		char wanted[SCRIPT_LINE_BYTES];

		at += strlen(COMPLAINS);
		count++;
		snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(at, "\n"), at);
		if (strstr(output, wanted) == NULL) {
			printf("%s: expected the complaint: %s\ngot:\n%s", name, wanted, output);
			return false;
		}
	}
	if (count == 0)
		printf("%s: expected a line with '%s'\n", name, COMPLAINS);
	return count != 0;
}

static bool run_must_fail(const char *name, const char *text, size_t length)
{
	char *output = NULL;
	size_t output_length = 0;
	FILE *out = open_memstream(&output, &output_length);
	bool is_right;

	if (out == NULL)
		abort();
	is_right = run_text(name, text, length, false, out);
	fclose(out);
	if (is_right)
		printf("%s: passed, but must fail\n", name);
	else
		is_right = !has_complaints(name, text, output);
	free(output);
	return !is_right;
}

int main(int argc, char **argv)
{
	static char text[FILE_BYTES_MAX];
	bool is_verbose = argc > 1 && strcmp(argv[1], "--verbose") == 0;
	bool must_fail = argc > 1 && strcmp(argv[1], "--must-fail") == 0;
	int first = is_verbose || must_fail ? 2 : 1;
	int failures = 0;

	if (first == argc) {
		fprintf(stderr, "usage: script_runner [--verbose | --must-fail] FILE...\n");
		return 2;
	}
	for (int i = first; i < argc; i++) {
		const char *name = base_name(argv[i]);
		size_t length = 0;
		bool is_good = read_file(argv[i], text, &length);

		if (is_good)
			is_good = must_fail ? run_must_fail(name, text, length)
					    : run_text(name, text, length, is_verbose, stdout);
		printf("%s: %s\n", is_good ? "pass" : "FAIL", name);
		failures += !is_good;
	}
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
