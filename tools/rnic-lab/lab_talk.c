/* SPDX-License-Identifier: MIT */
#include "lab_talk.h"

#include "lab_text.h"
#include "line_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show(const char *text)
{
	if (!isatty(STDIN_FILENO))
		return;
	fputs(text, stdout);
	fflush(stdout);
}

int lab_talk(struct lab_session *session, const char *prompt, uint32_t room, lab_deliver *deliver,
	     void *context)
{
	struct line_reader reader;
	size_t bytes;
	char *line;
	int result, failed = 0;

	if (line_reader_init(&reader, STDIN_FILENO, room) < 0) {
		lab_say("no memory for lines of %u bytes", room);
		return -ENOMEM;
	}
	do {
		show(prompt);
		result = line_reader_next(&reader, session->watch, &line, &bytes);
		if (result == 1)
			result = deliver(session, context, line, (uint32_t)bytes);
		else if (result == 0)
			break;
		else if (result == -ECONNRESET)
			lab_say("the server is gone");
		if (result == -EMSGSIZE) {
			lab_say("this line has more than %u bytes and was left out", room);
			result = 1;
		}
		failed |= result > 0;
	} while (result >= 0);
	if (result == 0 || result == -ECONNRESET)
		show("\n");
	line_reader_fini(&reader);
	return result < 0 ? result : failed;
}

int lab_ask(struct lab_watch *watch, const char *prompt, uint32_t room, char **text,
	    uint32_t *bytes)
{
	struct line_reader reader;
	size_t length;
	char *line;
	int result = line_reader_init(&reader, STDIN_FILENO, room);

	if (result < 0)
		return result;
	show(prompt);
	result = line_reader_next(&reader, watch, &line, &length);
	if (result != 1) {
		line_reader_fini(&reader);
		return result == 0 ? -ENODATA : result;
	}
	*text = reader.bytes;
	*bytes = (uint32_t)length;
	return 0;
}
