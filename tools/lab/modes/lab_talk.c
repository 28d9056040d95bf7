/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lab_talk.h"

#include "tools/lab/exchange/line_reader.h"
#include "tools/lab/lab_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void lab_talk_show(const char *text)
{
	if (!isatty(STDIN_FILENO))
		return;
	fputs(text, stdout);
	fflush(stdout);
}

/* Delivers one line, as lab_deliver does. *is_at_end: there is no line left. */
static int serve_line(struct lab_meeting *meeting, struct line_reader *reader, lab_deliver *deliver,
		      void *context, bool *is_at_end)
{
	size_t bytes;
	char *line;
	int result = line_reader_next(reader, meeting->watch, &line, &bytes);

	switch (result) {
	case 1:
		return deliver(meeting, context, line, (uint32_t)bytes);
	case 0:
		*is_at_end = true;
		return 0;
	case -EMSGSIZE:
		lab_say("this line has more than %zu bytes and was skipped", reader->room);
		return 1;
	case -ECONNRESET:
		lab_say("the server is gone");
		return result;
	default:
		return result;
	}
}

int lab_talk(struct lab_meeting *meeting, const char *prompt, uint32_t room, lab_deliver *deliver,
	     void *context)
{
	struct line_reader reader;
	bool is_at_end = false;
	int result = 0, failed = 0;

	if (line_reader_init(&reader, STDIN_FILENO, room) < 0) {
		lab_say("no memory for lines of %u bytes", room);
		return -ENOMEM;
	}
	while (result >= 0 && !is_at_end) {
		lab_talk_show(prompt);
		result = serve_line(meeting, &reader, deliver, context, &is_at_end);
		failed |= result > 0;
		if (result >= 0 && ferror(stdout)) {
			lab_say("nobody reads the output");
			result = -EPIPE;
		}
	}
	if (is_at_end || result == -ECONNRESET)
		lab_talk_show("\n");
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
	lab_talk_show(prompt);
	result = line_reader_next(&reader, watch, &line, &length);
	if (result != 1) {
		line_reader_fini(&reader);
		return result == 0 ? -ENODATA : result;
	}
	*text = reader.bytes;
	*bytes = (uint32_t)length;
	return 0;
}
