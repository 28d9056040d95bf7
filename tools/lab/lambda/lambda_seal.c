/* SPDX-License-Identifier: MIT */
#include "tools/lab/lambda/lambda_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LABEL_BYTES = 16 };

int lambda_secret_read(const char *path, struct lambda_secret *secret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	uint8_t bytes[LAMBDA_SECRET_BYTES_MAX +
		      2]; /* a newline, and one byte to detect that the file is longer */
	struct stat status;
	ssize_t count;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    (status.st_mode & (S_IRWXG | S_IRWXO)))
		error = -EPERM;
	count = error ? 0 : read(fd, bytes, sizeof(bytes));
	close(fd);
	if (count > 0 && bytes[count - 1] == '\n')
		count--;
	if (!error && (count < LAMBDA_SECRET_BYTES_MIN || count > LAMBDA_SECRET_BYTES_MAX))
		error = -EINVAL;
	if (!error) {
		secret->count = (size_t)count;
		memcpy(secret->bytes, bytes, secret->count);
	}
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return error;
}

void lambda_secret_forget(struct lambda_secret *secret)
{
	OPENSSL_cleanse(secret, sizeof(*secret));
}

static int authenticate(const uint8_t *key, size_t key_bytes, const uint8_t *bytes, size_t count,
			uint8_t code[LAB_PROOF_BYTES])
{
	unsigned int size = LAB_PROOF_BYTES;

	if (!HMAC(EVP_sha256(), key, (int)key_bytes, bytes, count, code, &size) ||
	    size != LAB_PROOF_BYTES)
		return -EIO;
	return 0;
}

static int authenticate_meeting(const struct lambda_secret *secret, const char *label,
				const struct lab_message *hello,
				const uint8_t nonce[LAB_NONCE_BYTES], uint8_t code[LAB_PROOF_BYTES])
{
	uint8_t bytes[LABEL_BYTES + LAB_NONCE_BYTES + LAB_MESSAGE_BYTES_MAX] = {0};
	size_t count = LABEL_BYTES + LAB_NONCE_BYTES;

	snprintf((char *)bytes, LABEL_BYTES, "%s", label);
	memcpy(bytes + LABEL_BYTES, nonce, LAB_NONCE_BYTES);
	count += lab_message_encode(hello, bytes + count);
	return authenticate(secret->bytes, secret->count, bytes, count, code);
}

int lambda_proof_make(const struct lambda_secret *secret, const struct lab_message *hello,
		      const uint8_t nonce[LAB_NONCE_BYTES], uint8_t proof[LAB_PROOF_BYTES])
{
	return authenticate_meeting(secret, "rnic-lab proof", hello, nonce, proof);
}

int lambda_key_make(const struct lambda_secret *secret, const struct lab_message *hello,
		    const uint8_t nonce[LAB_NONCE_BYTES], struct lambda_key *key)
{
	return authenticate_meeting(secret, "rnic-lab key", hello, nonce, key->bytes);
}

bool lambda_proof_equal(const uint8_t one[LAB_PROOF_BYTES], const uint8_t other[LAB_PROOF_BYTES])
{
	return CRYPTO_memcmp(one, other, LAB_PROOF_BYTES) == 0;
}

int lambda_seal_put(const struct lambda_key *key, uint8_t *bytes, size_t count, size_t offset)
{
	uint8_t seal[LAMBDA_SEAL_BYTES];
	int error;

	error = authenticate(key->bytes, sizeof(key->bytes), bytes, count, seal);
	if (error == 0)
		memcpy(bytes + offset, seal, sizeof(seal));
	return error;
}

bool lambda_seal_check(const struct lambda_key *key, uint8_t *bytes, size_t count, size_t offset)
{
	uint8_t found[LAMBDA_SEAL_BYTES], wanted[LAMBDA_SEAL_BYTES];

	memcpy(found, bytes + offset, sizeof(found));
	memset(bytes + offset, 0, sizeof(found));
	if (authenticate(key->bytes, sizeof(key->bytes), bytes, count, wanted))
		return false;
	return CRYPTO_memcmp(found, wanted, sizeof(wanted)) == 0;
}
