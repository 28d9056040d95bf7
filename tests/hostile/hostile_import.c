/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie about what others lend them. Whatever an importer asks for, it gets what the
 * exporter has, and each can end without the other.
 *
 * usage: hostile_import RNICD
 */
#include "tests/hostile/hostile_link.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define WITH_PD	    2 /* steps of a client that has a PD */
#define WITH_ALL    HOSTILE_STEPS
#define IMPORTERS   64
#define PDS_AT_MOST 100000

/* Shows the daemon `fd_count` times the descriptor; false when it hung up. */
static bool show(const struct hostile_client *client, uint16_t operation, int file,
		 unsigned fd_count, int32_t *status)
{
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = operation,
		.bytes = sizeof(request),
	};
	const int files[] = {file, file};
	struct hostile_reply reply;

	assert_true(hostile_send(client->fd, &request, sizeof(request), files, fd_count));
	if (!hostile_receive(client->fd, &reply))
		return false;
	*status = reply.header.status;
	return true;
}

static int32_t share(const struct hostile_client *client, int file)
{
	int32_t status;

	assert_true(show(client, RNIC_CTL_SHARE, file, 1, &status));
	return status;
}

static int32_t import(const struct hostile_client *client, int file)
{
	int32_t status;

	assert_true(show(client, RNIC_CTL_IMPORT, file, 1, &status));
	return status;
}

static int32_t import_pd(const struct hostile_client *client, uint32_t name, struct rnic_handle *pd)
{
	const struct rnic_ctl_import_pd request = {.name = name};

	return hostile_answer(client->fd, RNIC_CTL_IMPORT_PD, &request, sizeof(request), pd,
			      sizeof(*pd));
}

static int32_t import_mr(const struct hostile_client *client, struct rnic_handle pd, uint32_t name)
{
	const struct rnic_ctl_import_mr request = {.pd = pd, .name = name};

	return hostile_answer(client->fd, RNIC_CTL_IMPORT_MR, &request, sizeof(request), NULL, 0);
}

static int32_t dealloc_pd(const struct hostile_client *client, struct rnic_handle pd)
{
	return hostile_answer(client->fd, RNIC_CTL_DEALLOC_PD, &pd, sizeof(pd), NULL, 0);
}

/* A region of no memory in the PD. */
static struct rnic_handle register_null(const struct hostile_client *client, struct rnic_handle pd)
{
	const struct rnic_ctl_register_mr request = {
		.pd = pd,
		.mode = RNIC_MEMORY_NULL,
		.length = UINT64_MAX,
	};
	struct rnic_ctl_register_mr_reply answer;
	struct hostile_reply reply;

	hostile_must(client->fd, RNIC_CTL_REGISTER_MR, &request, sizeof(request), &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	return answer.mr;
}

static int make_file(void)
{
	int file = memfd_create("shared", MFD_CLOEXEC);

	assert_true(file >= 0);
	return file;
}

static void test_files_that_name_nobody(void **state)
{
	struct hostile_client exporter, importer;
	int file = make_file(), stranger = make_file(), name;
	char path[32];

	(void)state;
	hostile_client_open(&exporter, &rnicd, WITH_PD);
	hostile_client_open(&importer, &rnicd, WITH_PD);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	name = open(path, O_PATH | O_CLOEXEC);
	assert_int_equal(share(&exporter, name), -EINVAL);
	assert_int_equal(share(&exporter, file), 0);
	/* One file is one client's, and one client's file is one. */
	assert_int_equal(share(&exporter, stranger), -EBUSY);
	assert_int_equal(share(&importer, file), -EEXIST);
	assert_int_equal(import(&importer, name), -EINVAL);
	assert_int_equal(import(&importer, stranger), -ENOENT);
	assert_int_equal(import(&exporter, file), -ENOENT);
	assert_int_equal(import(&importer, file), 0);
	assert_int_equal(import(&importer, file), -EBUSY);
	close(name);
	close(stranger);
	close(file);
	hostile_client_close(&exporter);
	hostile_client_close(&importer);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Without a descriptor or with two it is no request at all. */
static void test_wrong_numbers_of_files(void **state)
{
	static const uint16_t operations[] = {RNIC_CTL_SHARE, RNIC_CTL_IMPORT};
	int file = make_file();
	int32_t status;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct hostile_client client;

		hostile_client_open(&client, &rnicd, 1);
		assert_false(show(&client, operations[i / 2], file, i % 2 * 2, &status));
		hostile_client_close(&client);
	}
	close(file);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_names_of_nothing(void **state)
{
	struct hostile_client exporter, importer;
	struct rnic_handle pd, mr;
	int file = make_file();
	uint32_t name;

	(void)state;
	hostile_client_open(&exporter, &rnicd, WITH_PD);
	hostile_client_open(&importer, &rnicd, WITH_PD);
	name = rnic_handle_name(exporter.pd);
	assert_int_equal(import_pd(&importer, name, &pd), -ENODEV);
	assert_int_equal(import_mr(&importer, importer.pd, name), -ENODEV);
	assert_int_equal(share(&exporter, file), 0);
	assert_int_equal(import(&importer, file), 0);
	assert_int_equal(import_pd(&importer, name + (1U << RNIC_NAME_SLOT_BITS), &pd), -EINVAL);
	assert_int_equal(import_pd(&importer, UINT32_MAX, &pd), -EINVAL);
	assert_int_equal(import_pd(&importer, name + 1, &pd), -EINVAL);
	assert_int_equal(import_pd(&importer, name, &pd), 0);
	mr = register_null(&exporter, exporter.pd);
	assert_int_equal(import_mr(&importer, pd, rnic_handle_name(mr)), 0);
	assert_int_equal(import_mr(&importer, pd, rnic_handle_name(mr) + 1), -EINVAL);
	assert_int_equal(import_mr(&importer, (struct rnic_handle){9, 9}, rnic_handle_name(mr)),
			 -EINVAL);
	/* Another domain than the region's, though it is the importer's own. */
	assert_int_equal(import_mr(&importer, importer.pd, rnic_handle_name(mr)), -EINVAL);
	close(file);
	hostile_client_close(&exporter);
	hostile_client_close(&importer);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* The exporter ends, by a lie of its own, while importers hold its memory. */
static void test_exporter_ends_first(void **state)
{
	struct hostile_client exporter, importers[IMPORTERS];
	struct rnic_handle pds[IMPORTERS], gone;
	int file = make_file();
	int32_t status;

	(void)state;
	hostile_client_open(&exporter, &rnicd, WITH_ALL);
	register_null(&exporter, exporter.pd);
	assert_int_equal(share(&exporter, file), 0);
	for (unsigned i = 0; i < IMPORTERS; i++) {
		hostile_client_open(&importers[i], &rnicd, 1);
		assert_int_equal(import(&importers[i], file), 0);
		assert_int_equal(import_pd(&importers[i], rnic_handle_name(exporter.pd), &pds[i]),
				 0);
		register_null(&importers[i], pds[i]);
	}
	assert_false(show(&exporter, RNIC_CTL_SHARE, file, 2, &status));
	hostile_client_close(&exporter);
	for (unsigned i = 0; i < IMPORTERS; i++) {
		assert_int_equal(import_pd(&importers[i], rnic_handle_name(exporter.pd), &gone),
				 -ENODEV);
		assert_int_equal(dealloc_pd(&importers[i], pds[i]), -EBUSY);
		register_null(&importers[i], pds[i]);
		hostile_client_close(&importers[i]);
	}
	close(file);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Two clients that import from each other, and one that imports an import. */
static void test_imports_in_a_circle(void **state)
{
	struct hostile_client clients[3];
	struct rnic_handle first, second, back;
	int files[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		files[i] = make_file();
		hostile_client_open(&clients[i], &rnicd, WITH_PD);
		assert_int_equal(share(&clients[i], files[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(import(&clients[i], files[(i + 2) % 3]), 0);
		close(files[(i + 2) % 3]);
	}
	assert_int_equal(import_pd(&clients[1], rnic_handle_name(clients[0].pd), &first), 0);
	assert_int_equal(import_pd(&clients[2], rnic_handle_name(first), &second), 0);
	assert_int_equal(import_pd(&clients[0], rnic_handle_name(second), &back), 0);
	assert_int_equal(dealloc_pd(&clients[1], first), 0);
	assert_int_equal(dealloc_pd(&clients[0], clients[0].pd), 0);
	register_null(&clients[0], back);
	assert_int_equal(dealloc_pd(&clients[2], second), 0);
	assert_int_equal(dealloc_pd(&clients[0], back), -EBUSY);
	for (unsigned i = 0; i < 3; i++)
		hostile_client_close(&clients[i]);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* Imports count as imports. */
static void test_imports_are_charged(void **state)
{
	struct hostile_client exporter, importer;
	struct rnic_handle pd;
	uint32_t made = 0;
	int file = make_file();
	int32_t status;

	(void)state;
	hostile_client_open(&exporter, &rnicd, WITH_PD);
	hostile_client_open(&importer, &rnicd, 1);
	assert_int_equal(share(&exporter, file), 0);
	assert_int_equal(import(&importer, file), 0);
	do {
		status = import_pd(&importer, rnic_handle_name(exporter.pd), &pd);
		assert_true(made++ < PDS_AT_MOST);
	} while (status == 0);
	assert_int_equal(status, -ENOSPC);
	close(file);
	hostile_client_close(&importer);
	hostile_client_close(&exporter);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_that_name_nobody),
		cmocka_unit_test(test_wrong_numbers_of_files),
		cmocka_unit_test(test_names_of_nothing),
		cmocka_unit_test(test_exporter_ends_first),
		cmocka_unit_test(test_imports_in_a_circle),
		cmocka_unit_test(test_imports_are_charged),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
