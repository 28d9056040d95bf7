/* SPDX-License-Identifier: MIT */
/*
 * Whose code a server runs. After HELLO it sends a CHALLENGE, and the client answers by a PROOF:
 * that it knows the secret (lambda_seal.h), or that it is the server's own user on the same host.
 *
 * The latter by a Unix socket whose name in the abstract namespace the challenge tells, and which
 * exists for that moment: the kernel says who connects (SO_PEERCRED), on both ends, and only
 * processes that share the network namespace can. There the client repeats nonce and HELLO, so that
 * nobody in between can have it speak for a connection that is not its own, and gives the session a
 * key. Either way requests and results are sealed then.
 *
 * Functions complain themselves and return a negative errno.
 */
#ifndef TOOLS_RNIC_LAB_MODES_LAMBDA_TRUST_H
#define TOOLS_RNIC_LAB_MODES_LAMBDA_TRUST_H

#include "modes/lab_session.h"
#include "lambda/lambda_seal.h"

/*
 * The server's part, after HELLO. `secret` may be NULL: then only its own user is trusted. -EACCES:
 * the client is not, and was told.
 */
int lambda_trust_demand(struct lab_session *session, const struct lambda_secret *secret,
			struct lambda_key *key);

/* The client's part, after HELLO. `secret` may be NULL: then it is the server's user or nobody. */
int lambda_trust_show(struct lab_session *session, const struct lambda_secret *secret,
		      struct lambda_key *key);

#endif
