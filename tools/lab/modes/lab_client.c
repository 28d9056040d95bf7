/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lab_modes.h"

int lab_client_run(const struct lab_mode *mode, const struct lab_options *options,
		   struct lab_watch *watch)
{
	struct lab_meeting meeting = {.options = options, .watch = watch};
	int result = exchange_connect(&meeting.exchange, options, watch);

	if (result)
		return result;
	result = mode->use(&meeting);
	watch->peer_fd = -1;
	exchange_socket_close(&meeting.exchange);
	return result;
}
