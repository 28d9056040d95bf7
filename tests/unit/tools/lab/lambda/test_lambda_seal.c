/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit_test.h"
#include "tools/lab/lambda/lambda_seal.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct lambda_secret secret = {20, "a secret of 20 bytes"};
static const struct lambda_secret other_secret = {20, "another of 20 bytes!"};
static const uint8_t nonce[LAB_NONCE_BYTES] = {1, 2, 3};

static struct lab_message hello(uint32_t qpn)
{
	return (struct lab_message){
		.type = LAB_HELLO,
		.endpoint = {.mode = LAB_LAMBDA, .mtu = 1, .lid = 1, .qpn = qpn}};
}

/* A proof is of one secret, one nonce and one queue pair. */
static void test_proofs(void **state)
{
	struct lab_message ours = hello(17), theirs = hello(18);
	uint8_t proof[LAB_PROOF_BYTES], again[LAB_PROOF_BYTES], other_nonce[LAB_NONCE_BYTES] = {9};

	(void)state;
	assert_int_equal(lambda_proof_make(&secret, &ours, nonce, proof), 0);
	assert_int_equal(lambda_proof_make(&secret, &ours, nonce, again), 0);
	assert_true(lambda_proof_equal(proof, again));
	assert_int_equal(lambda_proof_make(&other_secret, &ours, nonce, again), 0);
	assert_false(lambda_proof_equal(proof, again));
	assert_int_equal(lambda_proof_make(&secret, &theirs, nonce, again), 0);
	assert_false(lambda_proof_equal(proof, again));
	assert_int_equal(lambda_proof_make(&secret, &ours, other_nonce, again), 0);
	assert_false(lambda_proof_equal(proof, again));
}

static void test_the_key_is_not_the_proof(void **state)
{
	struct lab_message ours = hello(17);
	uint8_t proof[LAB_PROOF_BYTES];
	struct lambda_key key;

	(void)state;
	assert_int_equal(lambda_proof_make(&secret, &ours, nonce, proof), 0);
	assert_int_equal(lambda_key_make(&secret, &ours, nonce, &key), 0);
	assert_false(lambda_proof_equal(proof, key.bytes));
}

/* A change of any byte breaks the seal, the seal's own included. */
static void test_seals(void **state)
{
	enum { BYTES = 80, OFFSET = 32 };
	struct lab_message ours = hello(17);
	uint8_t sealed[BYTES] = "what is sealed", bytes[BYTES];
	struct lambda_key key;

	(void)state;
	assert_int_equal(lambda_key_make(&secret, &ours, nonce, &key), 0);
	assert_int_equal(lambda_seal_put(&key, sealed, BYTES, OFFSET), 0);
	memcpy(bytes, sealed, BYTES);
	assert_true(lambda_seal_check(&key, bytes, BYTES, OFFSET));
	for (size_t i = 0; i < BYTES; i++) {
		memcpy(bytes, sealed, BYTES);
		bytes[i] ^= 1;
		assert_false(lambda_seal_check(&key, bytes, BYTES, OFFSET));
	}
	memcpy(bytes, sealed, BYTES);
	assert_false(lambda_seal_check(&key, bytes, BYTES - 1, OFFSET));
}

/* ---- the file ---- */

static int read_secret_file(const char *text, mode_t mode, struct lambda_secret *found)
{
	char path[] = "/tmp/rnic-lab-secret-XXXXXX";
	int fd = mkstemp(path), result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	result = lambda_secret_read(path, found);
	unlink(path);
	return result;
}

static void test_secret_files(void **state)
{
	char longest[LAMBDA_SECRET_BYTES_MAX + 2];
	struct lambda_secret found;

	(void)state;
	assert_int_equal(read_secret_file("a secret of 20 bytes\n", 0600, &found), 0);
	assert_int_equal(found.count, 20);
	assert_memory_equal(found.bytes, secret.bytes, 20);
	assert_int_equal(read_secret_file("0123456789abcdef", 0400, &found), 0);
	assert_int_equal(found.count, 16);
	assert_int_equal(read_secret_file("0123456789abcde\n", 0600, &found), -EINVAL);
	assert_int_equal(read_secret_file("", 0600, &found), -EINVAL);
	assert_int_equal(read_secret_file("a secret of 20 bytes\n", 0640, &found), -EPERM);
	assert_int_equal(read_secret_file("a secret of 20 bytes\n", 0604, &found), -EPERM);
	memset(longest, 'x', sizeof(longest));
	longest[LAMBDA_SECRET_BYTES_MAX + 1] = '\0';
	assert_int_equal(read_secret_file(longest, 0600, &found), -EINVAL);
	longest[LAMBDA_SECRET_BYTES_MAX] = '\0';
	assert_int_equal(read_secret_file(longest, 0600, &found), 0);
	assert_int_equal(lambda_secret_read("/dev/zero", &found), -EPERM);
	assert_int_equal(lambda_secret_read("/nonexistent/secret", &found), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proofs),
		cmocka_unit_test(test_the_key_is_not_the_proof),
		cmocka_unit_test(test_seals),
		cmocka_unit_test(test_secret_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
