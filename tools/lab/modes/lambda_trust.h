/* SPDX-License-Identifier: MIT */
/*
 * Decides whose code a server runs. After HELLO the server sends a CHALLENGE, and the client
 * answers by a PROOF: that it knows the secret (lambda_seal.h), or that it is the server's own user
 * on the same host.
 *
 * The second proof uses a Unix socket whose name in the abstract namespace is in the challenge, and
 * which exists for that moment. The kernel tells both ends the other's user (SO_PEERCRED), and only
 * processes that share the network namespace can connect. There the client repeats nonce and HELLO,
 * so that nobody in between can use it for another connection, and gives the meeting a key. With
 * either proof a key seals requests and results from then on.
 *
 * Functions print their own errors and return a negative errno.
 */
#ifndef TOOLS_LAB_MODES_LAMBDA_TRUST_H
#define TOOLS_LAB_MODES_LAMBDA_TRUST_H

#include "tools/lab/lambda/lambda_seal.h"
#include "tools/lab/modes/lab_meeting.h"

/*
 * The server's part, after HELLO. `secret` may be NULL: then the server trusts only its own user.
 * -EACCES: the server does not trust the client, and has told the client.
 */
int lambda_trust_demand(struct lab_meeting *meeting, const struct lambda_secret *secret,
			struct lambda_key *key);

/*
 * The client's part, after HELLO. `secret` may be NULL: then only the server's own user is trusted.
 */
int lambda_trust_show(struct lab_meeting *meeting, const struct lambda_secret *secret,
		      struct lambda_key *key);

#endif
