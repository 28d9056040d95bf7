/* SPDX-License-Identifier: MIT */
/*
 * The proofs that both ends know the secret, which never travels. All are HMAC-SHA256:
 *
 *   proof  with the secret, over a label, the server's nonce and the client's HELLO (which has a
 *          nonce and the queue pair, so that the proof is useless for any other connection)
 *   key    of the connection, likewise with another label (or random and sent where nobody listens)
 *   seal   with the key, over each request and each result as they lie in memory: the server does
 *          not run code that somebody else wrote into the region, and the client does not believe
 *          a result that is not the server's
 */
#ifndef TOOLS_LAB_LAMBDA_LAMBDA_SEAL_H
#define TOOLS_LAB_LAMBDA_LAMBDA_SEAL_H

#include "tools/lab/exchange/exchange_message.h"
#include "tools/lab/lambda/lambda_message.h"

#include <stdbool.h>

enum { LAMBDA_SECRET_BYTES_MIN = 16, LAMBDA_SECRET_BYTES_MAX = 1024 };

struct lambda_secret {
	size_t count;
	uint8_t bytes[LAMBDA_SECRET_BYTES_MAX];
};

/* A connection's key. */
struct lambda_key {
	uint8_t bytes[LAB_PROOF_BYTES];
};

/*
 * Reads the secret from a file without the newline at its end. -EPERM: others than its owner may
 * read the file, or it is no regular file. -EINVAL: the secret is shorter than the least, or longer
 * than the most.
 */
int lambda_secret_read(const char *path, struct lambda_secret *secret);
void lambda_secret_forget(struct lambda_secret *secret);

/* -EIO: the library has no HMAC-SHA256. */
int lambda_proof_make(const struct lambda_secret *secret, const struct lab_message *hello,
		      const uint8_t nonce[LAB_NONCE_BYTES], uint8_t proof[LAB_PROOF_BYTES]);
int lambda_key_make(const struct lambda_secret *secret, const struct lab_message *hello,
		    const uint8_t nonce[LAB_NONCE_BYTES], struct lambda_key *key);

/* Compares in a time that does not depend on the first difference. */
bool lambda_proof_equal(const uint8_t one[LAB_PROOF_BYTES], const uint8_t other[LAB_PROOF_BYTES]);

/*
 * Writes a seal at `offset` of `bytes`, where zeros are; or checks the seal there, and zeroes it.
 */
int lambda_seal_put(const struct lambda_key *key, uint8_t *bytes, size_t count, size_t offset);
bool lambda_seal_check(const struct lambda_key *key, uint8_t *bytes, size_t count, size_t offset);

#endif
