/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lambda_trust.h"

#include "tools/lab/lab_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

enum { WITNESS_BACKLOG = 16, OVERFLOW_UID = 65534 };

/* The client's words at the Unix socket: the server's nonce, its own HELLO, and a key. */
enum { WITNESS_BYTES_MAX = LAB_NONCE_BYTES + LAB_MESSAGE_BYTES_MAX + LAB_PROOF_BYTES };

/* Writes all but the key; returns the key's place. */
static size_t make_witness(const struct lab_endpoint *hello, const uint8_t *nonce,
			   uint8_t witness[WITNESS_BYTES_MAX])
{
	struct lab_message message = {.type = LAB_HELLO, .endpoint = *hello};

	memcpy(witness, nonce, LAB_NONCE_BYTES);
	return LAB_NONCE_BYTES + lab_message_encode(&message, witness + LAB_NONCE_BYTES);
}

/* A name of the abstract namespace: a zero and the text, without a zero behind it. */
static socklen_t fill_address(struct sockaddr_un *address, const char *place)
{
	size_t length = strlen(place);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path + 1, place, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Whether the process at the other end is of our user; the kernel tells. */
static bool is_own_user(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	/*
	 * This user number stands for all users of another user namespace that ours does not have.
	 */
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       peer.uid == geteuid() && peer.uid != OVERFLOW_UID;
}

/* ---- server ---- */

/* Opens the socket for a local user's proof and returns it, with its name. */
static int open_place(char place[LAB_PLACE_BYTES])
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	struct sockaddr_un address;
	socklen_t bytes;
	uint64_t name;

	if (fd < 0)
		return -errno;
	if (getrandom(&name, sizeof(name), 0) == sizeof(name)) {
		snprintf(place, LAB_PLACE_BYTES, "rnic-lab-%016llx", (unsigned long long)name);
		bytes = fill_address(&address, place);
		if (bind(fd, (struct sockaddr *)&address, bytes) == 0 &&
		    listen(fd, WITNESS_BACKLOG) == 0)
			return fd;
	}
	error = -errno;
	close(fd);
	return error;
}

/* Takes the words of a caller at the place, if the caller is our user and speaks of this client. */
static bool take_witness(int fd, const struct lab_endpoint *hello, const uint8_t *nonce,
			 struct lambda_key *key)
{
	uint8_t wanted[WITNESS_BYTES_MAX], found[WITNESS_BYTES_MAX];
	size_t bytes = make_witness(hello, nonce, wanted);

	if (!is_own_user(fd) ||
	    recv(fd, found, sizeof(found), MSG_DONTWAIT) != (ssize_t)(bytes + LAB_PROOF_BYTES) ||
	    memcmp(found, wanted, bytes) != 0)
		return false;
	memcpy(key->bytes, found + bytes, LAB_PROOF_BYTES);
	return true;
}

/* Whether our user came to the place. A client goes there before its PROOF. */
static bool has_witness(int place_fd, const struct lab_endpoint *hello, const uint8_t *nonce,
			struct lambda_key *key)
{
	bool is_found = false;
	int fd;

	while (!is_found && (fd = accept4(place_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		is_found = take_witness(fd, hello, nonce, key);
		close(fd);
	}
	return is_found;
}

static bool knows_secret(const struct lambda_secret *secret, const struct lab_message *hello,
			 const uint8_t *nonce, const struct lab_proof *proof)
{
	uint8_t wanted[LAB_PROOF_BYTES];

	return lambda_proof_make(secret, hello, nonce, wanted) == 0 &&
	       lambda_proof_equal(wanted, proof->code);
}

/* Returns the reason not to trust the client, NULL for trust. */
static const char *lambda_trust_judge(const struct lab_meeting *meeting,
				      const struct lambda_secret *secret, int place_fd,
				      const uint8_t *nonce, const struct lab_proof *proof,
				      struct lambda_key *key)
{
	struct lab_message hello = {.type = LAB_HELLO, .endpoint = meeting->theirs};

	if (proof->method == LAB_BY_LOCAL_USER)
		return has_witness(place_fd, &meeting->theirs, nonce, key)
			       ? NULL
			       : "you are not this server's user on its host";
	if (!secret)
		return "this server has no secret";
	if (!knows_secret(secret, &hello, nonce, proof))
		return "this is not the server's secret";
	return lambda_key_make(secret, &hello, nonce, key) == 0 ? NULL : "there is no cryptography";
}

int lambda_trust_demand(struct lab_meeting *meeting, const struct lambda_secret *secret,
			struct lambda_key *key)
{
	uint64_t deadline_ns = lab_deadline_ns(meeting->options->timeout_s);
	struct lab_message message = {.type = LAB_CHALLENGE}, proof;
	const char *reason;
	int error, place_fd;

	*key = (struct lambda_key){0};
	place_fd = open_place(message.challenge.place);
	if (place_fd < 0 || getrandom(message.challenge.nonce, LAB_NONCE_BYTES, 0) < 0) {
		lab_say("cannot ask a client for its proof: %s", strerror(errno));
		return -EIO;
	}
	message.challenge.methods = LAB_BY_LOCAL_USER | (secret ? LAB_BY_SECRET : 0);
	error = exchange_send(&meeting->exchange, meeting->watch, &message, deadline_ns);
	if (error == 0)
		error = exchange_receive(&meeting->exchange, meeting->watch, LAB_PROOF, &proof,
					 deadline_ns);
	if (error)
		goto close_place;
	reason = lambda_trust_judge(meeting, secret, place_fd, message.challenge.nonce,
				    &proof.proof, key);
	if (reason) {
		exchange_refuse(&meeting->exchange, meeting->watch, reason);
		error = -EACCES;
	}
close_place:
	close(place_fd);
	return error;
}

/* ---- client ---- */

/* Connects to the server's place and gives a key. *fd is open until the server has seen it. */
static int show_up(const struct lab_meeting *meeting, const struct lab_challenge *challenge,
		   struct lambda_key *key, int *fd)
{
	uint8_t witness[WITNESS_BYTES_MAX];
	size_t size = make_witness(&meeting->ours, challenge->nonce, witness);
	struct sockaddr_un address;
	socklen_t bytes = fill_address(&address, challenge->place);

	if (getrandom(key->bytes, sizeof(key->bytes), 0) != sizeof(key->bytes))
		return -EIO;
	memcpy(witness + size, key->bytes, sizeof(key->bytes));
	size += sizeof(key->bytes);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 && connect(*fd, (struct sockaddr *)&address, bytes) == 0 && is_own_user(*fd) &&
	    send(*fd, witness, size, MSG_NOSIGNAL) == (ssize_t)size)
		return 0;
	lab_say("the server runs only code of its own user on its own host, or of clients "
		"that know its secret: --secret FILE");
	return -EACCES;
}

static int prove_secret(const struct lab_meeting *meeting, const struct lab_challenge *challenge,
			const struct lambda_secret *secret, struct lab_proof *proof,
			struct lambda_key *key)
{
	struct lab_message hello = {.type = LAB_HELLO, .endpoint = meeting->ours};

	if (!(challenge->methods & LAB_BY_SECRET)) {
		lab_say("the server has no secret");
		return -EACCES;
	}
	proof->method = LAB_BY_SECRET;
	if (lambda_proof_make(secret, &hello, challenge->nonce, proof->code) == 0 &&
	    lambda_key_make(secret, &hello, challenge->nonce, key) == 0)
		return 0;
	lab_say("there is no HMAC-SHA256");
	return -EIO;
}

int lambda_trust_show(struct lab_meeting *meeting, const struct lambda_secret *secret,
		      struct lambda_key *key)
{
	uint64_t deadline_ns = lab_deadline_ns(meeting->options->timeout_s);
	struct lab_message message, answer = {.type = LAB_PROOF};
	int error, fd = -1;

	*key = (struct lambda_key){0};
	error = exchange_receive(&meeting->exchange, meeting->watch, LAB_CHALLENGE, &message,
				 deadline_ns);
	if (error)
		return error;
	answer.proof.method = LAB_BY_LOCAL_USER;
	if (secret)
		error = prove_secret(meeting, &message.challenge, secret, &answer.proof, key);
	else
		error = show_up(meeting, &message.challenge, key, &fd);
	if (error == 0)
		error = exchange_send(&meeting->exchange, meeting->watch, &answer, deadline_ns);
	/* The sent bytes stay in the server's socket. */
	if (fd >= 0)
		close(fd);
	return error;
}
