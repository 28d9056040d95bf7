/* SPDX-License-Identifier: MIT */
#include "tools/lab/lab_text.h"
#include "tools/lab/modes/lab_lambda.h"

#include <errno.h>
#include <string.h>

int lambda_secret_load(const char *path, struct lambda_secret *secret)
{
	int error = lambda_secret_read(path, secret);

	if (error == -EPERM)
		lab_say("%s: a secret is a file that nobody but its owner may read (chmod 600)",
			path);
	else if (error == -EINVAL)
		lab_say("%s: a secret has %d to %d bytes", path, LAMBDA_SECRET_BYTES_MIN,
			LAMBDA_SECRET_BYTES_MAX);
	else if (error)
		lab_say("%s: %s", path, strerror(-error));
	return error;
}
