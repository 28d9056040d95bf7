/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/system_random.h"

#include "daemon/shared/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int system_random_init(struct system_random *random)
{
	ssize_t got;

	do {
		got = getrandom(random->buffer, sizeof(random->buffer), 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if ((size_t)got < sizeof(random->buffer))
		return -EIO;
	random->available = sizeof(random->buffer);
	return 0;
}

static void system_random_refill(struct system_random *random)
{
	int error = system_random_init(random);

	if (error == 0)
		return;
	log_error("the kernel gives no random numbers: %s", strerror(-error));
	abort();
}

static void system_random_fill(void *context, void *bytes, size_t count)
{
	struct system_random *random = context;
	uint8_t *out = bytes;

	while (count > 0) {
		size_t piece;

		if (random->available == 0)
			system_random_refill(random);
		piece = count < random->available ? count : random->available;
		memcpy(out, random->buffer + sizeof(random->buffer) - random->available, piece);
		random->available -= piece;
		out += piece;
		count -= piece;
	}
}

struct random_source system_random_source(struct system_random *random)
{
	return (struct random_source){.fill = system_random_fill, .context = random};
}
