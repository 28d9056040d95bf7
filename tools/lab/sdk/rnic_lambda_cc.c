/* SPDX-License-Identifier: MIT */
/*
 * rnic-lambda-cc: compiles a C function to a lambda file. The compiler makes position-independent
 * code that needs no library, and the linker puts it into one section. The program checks that the
 * code stands alone, and writes it behind a header.
 */
#include "tools/lab/lambda/file_bytes.h"
#include "tools/lab/lambda/lambda_file.h"
#include "tools/lab/lambda/program_directory.h"
#include "tools/lab/sdk/lambda_elf.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXTRA_MAX = 64, ARGUMENTS_MAX = EXTRA_MAX + 32, OPTION_COMPILER = 256 };
enum { PROGRAM_BYTES_MAX = 64 << 20 };

struct options {
	const char *source;
	const char *output;
	const char *compiler;
	char *extra[EXTRA_MAX]; /* for the compiler */
	int extra_count;
};

/* The places of this program's files. */
struct places {
	char include[PATH_MAX + 64];
	char script[PATH_MAX + 64];
	char memory[PATH_MAX + 64];
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "FILE", 0, "the lambda file", 0},
	{"compiler", OPTION_COMPILER, "CC", 0,
	 "the compiler ($CC, else cc); a compiler for another machine makes lambdas for it", 0},
	{NULL, 'I', "DIRECTORY", 0, "for the compiler", 0},
	{NULL, 'D', "NAME[=VALUE]", 0, "for the compiler", 0},
	{0},
};

static void add_extra(struct options *options, struct argp_state *state, int key, char *text)
{
	char *word;

	if (options->extra_count == EXTRA_MAX)
		argp_error(state, "too many options for the compiler");
	if (asprintf(&word, "-%c%s", key, text) < 0)
		argp_failure(state, EXIT_FAILURE, ENOMEM, "-%c", key);
	options->extra[options->extra_count++] = word;
}

static error_t lambda_cc_parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->output = text;
		break;
	case OPTION_COMPILER:
		options->compiler = text;
		break;
	case 'I':
	case 'D':
		add_extra(options, state, key, text);
		break;
	case ARGP_KEY_ARG:
		if (options->source)
			argp_error(state, "one file is one lambda");
		options->source = text;
		break;
	case ARGP_KEY_END:
		if (!options->source || !options->output)
			argp_error(state, "a C file and -o FILE.lambda are needed");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int find_places(struct places *places)
{
	char program[PROGRAM_DIRECTORY_BYTES];
	int error = program_directory(program);

	if (error)
		return error;
	snprintf(places->include, sizeof(places->include), "-I%s/../include", program);
	snprintf(places->script, sizeof(places->script), "-Wl,-T,%s/../share/rnic/lambda.ld",
		 program);
	snprintf(places->memory, sizeof(places->memory), "%s/../share/rnic/lambda_memory.c",
		 program);
	return 0;
}

/* ---- compiler ---- */

static void lambda_cc_fill_arguments(struct options *options, struct places *places, char *program,
				     char *arguments[ARGUMENTS_MAX])
{
	static char *const fixed[] = {
		"-std=gnu11",
		"-O2",
		"-Wall",
		"-ffreestanding",
		"-fpie",
		"-fvisibility=hidden",
		"-fno-stack-protector",
		"-fno-asynchronous-unwind-tables",
		"-fstack-clash-protection",
		"-ffunction-sections",
		"-fdata-sections",
		"-U_FORTIFY_SOURCE",
		"-nostdlib",
		"-static-pie",
		"-Wl,--gc-sections,--build-id=none,-z,norelro,-z,noexecstack",
		"-Wl,--no-undefined,-z,max-page-size=4096",
	};
	int count = 0;

	arguments[count++] = (char *)options->compiler;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		arguments[count++] = fixed[i];
	for (int i = 0; i < options->extra_count; i++)
		arguments[count++] = options->extra[i];
	arguments[count++] = places->include;
	arguments[count++] = places->script;
	arguments[count++] = (char *)options->source;
	arguments[count++] = places->memory;
	arguments[count++] = "-o";
	arguments[count++] = program;
	arguments[count] = NULL;
}

/* Runs the compiler to make `program`, a file. The compiler prints its own errors. */
static int compile(struct options *options, struct places *places, char *program)
{
	char *arguments[ARGUMENTS_MAX];
	pid_t child;
	int status;

	lambda_cc_fill_arguments(options, places, program, arguments);
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		execvp(arguments[0], arguments);
		fprintf(stderr, "rnic-lambda-cc: %s: %s\n", arguments[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* ---- files ---- */

static int write_lambda(const char *path, const struct lambda_file *file)
{
	uint8_t header[LAMBDA_HEADER_BYTES];
	FILE *output = fopen(path, "wb");
	bool is_written;

	if (!output)
		return -errno;
	lambda_file_encode(file, header);
	is_written = fwrite(header, sizeof(header), 1, output) == 1 &&
		     fwrite(file->code, file->code_bytes, 1, output) == 1;
	if (fclose(output) == 0 && is_written)
		return 0;
	remove(path);
	return -EIO;
}

/* The source's name without folder and ending, as far as there is room. */
static void name_after(const char *source, char name[LAMBDA_NAME_BYTES])
{
	const char *slash = strrchr(source, '/');
	size_t length;

	source = slash ? slash + 1 : source;
	length = strcspn(source, ".");
	for (size_t i = 0; i < length && i < LAMBDA_NAME_BYTES - 1; i++)
		name[i] = source[i] >= ' ' && source[i] <= '~' ? source[i] : '_';
}

static int make_lambda(struct options *options, const char *program)
{
	char complaint[LAMBDA_COMPLAINT_BYTES];
	struct lambda_file file;
	uint8_t *bytes = NULL;
	size_t count = 0;
	int error = file_bytes_read(program, PROGRAM_BYTES_MAX, &bytes, &count);

	if (error) {
		fprintf(stderr, "rnic-lambda-cc: cannot read the output of the compiler: %s\n",
			strerror(-error));
		return error;
	}
	error = lambda_elf_extract(bytes, count, &file, complaint);
	if (error) {
		fprintf(stderr, "rnic-lambda-cc: %s cannot be a lambda: %s\n", options->source,
			complaint);
		goto free_bytes;
	}
	name_after(options->source, file.name);
	error = write_lambda(options->output, &file);
	if (error)
		fprintf(stderr, "rnic-lambda-cc: cannot write %s: %s\n", options->output,
			strerror(-error));
free_bytes:
	free(bytes);
	return error;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = lambda_cc_parse,
		.args_doc = "FILE.c -o FILE.lambda",
		.doc = "Compiles a C function, rnic_lambda() of <rnic/lambda.h>, to a file that "
		       "rnic-lab carries to a server and runs there.",
	};
	struct options options = {.compiler = getenv("CC")};
	char program[] = "/tmp/rnic-lambda-XXXXXX";
	struct places places;
	int error, fd;

	argp_err_exit_status = EXIT_FAILURE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.compiler || !options.compiler[0])
		options.compiler = "cc";
	error = find_places(&places);
	fd = mkstemp(program);
	if (error || fd < 0) {
		fprintf(stderr, "rnic-lambda-cc: cannot begin: %s\n",
			strerror(error ? -error : errno));
		return EXIT_FAILURE;
	}
	close(fd);
	error = compile(&options, &places, program);
	if (error == 0)
		error = make_lambda(&options, program);
	unlink(program);
	for (int i = 0; i < options.extra_count; i++)
		free(options.extra[i]);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
